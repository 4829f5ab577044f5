"""A Gaussian process of scikit-learn, fitted to sixty measured values."""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pinnpoint as pp

X = np.random.default_rng(0).uniform(size=(60, 2))
measured = 0.07 * np.prod(np.sin(np.pi * X), axis=1)
surrogate = make_pipeline(StandardScaler(), GaussianProcessRegressor()).fit(X, measured)
problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 24), source=1.0, dirichlet={"boundary": 0.0})
asked = problem.points([[0.5, 0.5], [0.2, 0.7]]) + problem.averages([[0.5, 0.5]], 0.2)
print(pp.certify(problem, pp.models.sklearn_predictor(surrogate), asked, accept=0.01))
