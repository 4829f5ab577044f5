"""The result: certificates, batches of them, their JSON; bounds from the discrete target to the continuous one."""
