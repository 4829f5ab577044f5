"""Elements and the matrices that are assembled from them."""
