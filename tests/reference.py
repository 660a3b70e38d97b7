"""The paper's definitions, dense and literal, with points as rows. Slow, and meant to be read beside the paper."""

from __future__ import annotations

import numpy as np


def assignments(X, C, sigma, n_nearest=None):
    """Algorithm 1, line 6; with `n_nearest`, over the nearest points of each row only."""
    distances = ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=2)
    if n_nearest is not None:
        limit = np.sort(distances, axis=1)[:, [n_nearest - 1]]
        distances = np.where(distances <= limit, distances, np.inf)
    kernel = np.exp(-(distances - distances.min(axis=1, keepdims=True)) / sigma)
    return kernel / kernel.sum(axis=1, keepdims=True)


def log_likelihood(X, C, sigma):
    """f(C) with Algorithm 1's kernel."""
    distances = ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=2)
    return np.log(np.exp(-distances / sigma).sum(axis=1)).sum()


def laplacian(G):
    return np.diag(G.sum(axis=1)) - G


def objective(X, C, G, sigma, lambda1):
    lengths = ((C[:, None, :] - C[None, :, :]) ** 2).sum(axis=2)
    return sigma / 2 * log_likelihood(X, C, sigma) - lambda1 / 4 * (G * lengths).sum()


def updated_points(X, Z, G, lambda1):
    """Eq. C."""
    return np.linalg.inv(np.diag(Z.sum(axis=0)) + lambda1 * laplacian(G)) @ Z.T @ X


def Q(Z, G, eta):
    n = len(Z)
    return np.block([[np.zeros((n, n)), Z], [Z.T, eta * G]])


def P(Z, G, eta):
    Qm = Q(Z, G, eta)
    return np.diag(1 / Qm.sum(axis=1)) @ Qm


def strength(Z, G, eta):
    """E, as a matrix."""
    return np.diag(Z.sum(axis=0) + eta * G.sum(axis=1))


def P_tilde(Z, G, alpha, eta):
    E_inv = np.linalg.inv(strength(Z, G, eta))
    return alpha * eta * E_inv @ G + alpha**2 * E_inv @ Z.T @ Z


def walk_matrix(Z, G, alpha, eta):
    """Eq. con:Phi2: P²(I − αP)⁻¹, whose upper left block is W."""
    Pm = P(Z, G, eta)
    return Pm @ Pm @ np.linalg.inv(np.eye(len(Pm)) - alpha * Pm)


def accurate_graph(Z, G, alpha, eta):
    """Eq. con:Phi2's W."""
    return walk_matrix(Z, G, alpha, eta)[: len(Z), : len(Z)]


def approx_graph(Z, G, alpha, eta):
    """Eq. W:phi1, term by term."""
    E_inv = np.linalg.inv(strength(Z, G, eta))
    return Z @ E_inv @ Z.T + alpha * eta * Z @ E_inv @ G @ E_inv @ Z.T + alpha**2 * Z @ E_inv @ Z.T @ Z @ E_inv @ Z.T


def anchor_graph(Z):
    """Eq. anchor_W."""
    return Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T


def lgc_system(W, labelled, lambda2):
    """The matrix Φ = 2 L₃ + λ2 I and L₂ᵀ, over the unlabelled rows."""
    L = laplacian(W)
    unlabelled = np.setdiff1d(np.arange(len(W)), labelled)
    return 2 * L[np.ix_(unlabelled, unlabelled)] + lambda2 * np.eye(len(unlabelled)), L[np.ix_(unlabelled, labelled)]


def lgc_scores(W, labelled, Y_l, lambda2):
    """F_u of eq. two-stage-Ft."""
    Phi, L2t = lgc_system(W, labelled, lambda2)
    return np.linalg.solve(Phi, -2 * L2t @ Y_l)


def agr_objective(A, Z, W, Y, lambda2):
    """Eq. two-stage-obj3."""
    F = Z @ A
    return np.trace(F.T @ laplacian(W) @ F) + lambda2 / 2 * ((F - Y) ** 2).sum()


def agr_coefficients(Z, W, Y, lambda2):
    """A* of eq. optimal:A."""
    return lambda2 * np.linalg.pinv(2 * Z.T @ laplacian(W) @ Z + lambda2 * Z.T @ Z, hermitian=True) @ Z.T @ Y


def poisson_scores(W, labelled, Y_l, lambda2):
    """(diag(W1) + λ2 I − W) F = Y_l less its mean, on labelled rows, and 0 elsewhere."""
    sources = np.zeros((len(W), Y_l.shape[1]))
    sources[labelled] = Y_l - Y_l.mean(axis=0)
    return np.linalg.solve(np.diag(W.sum(axis=1)) + lambda2 * np.eye(len(W)) - W, sources)


def mbo_scores(W, labelled, Y_l, lambda2, *, steps, diffusions):
    """LGC's scores, then: one-hot rows by the largest score with equal class mass, labels kept, and diffusion.

    Also returned: the smallest relative lead of a row's class over the next one, in any step.
    """
    D = np.diag(2 * W.sum(axis=1) + lambda2)
    F = np.zeros((len(W), Y_l.shape[1]))
    unlabelled = np.setdiff1d(np.arange(len(W)), labelled)
    F[unlabelled] = lgc_scores(W, labelled, Y_l, lambda2)
    Y = np.zeros_like(F)
    Y[labelled] = Y_l
    # what the closed form gives on labelled rows: D⁻¹ 2 (W F_u + W_l Y_l)
    F = np.linalg.solve(D, 2 * W @ (F + Y))
    margin = np.inf
    for _ in range(steps):
        scaled = F / np.maximum(F.sum(axis=0), np.finfo(float).tiny ** 0.5)
        if F.shape[1] > 1:
            second, first = np.sort(scaled, axis=1)[:, -2:].T
            margin = min(margin, np.min((first - second) / first))
        U = np.eye(F.shape[1])[scaled.argmax(axis=1)]
        U[labelled] = Y_l
        F = np.linalg.solve(D, 2 * W @ U)
        for _ in range(diffusions - 1):
            F = np.linalg.solve(D, 2 * W @ F)
    return F, margin
