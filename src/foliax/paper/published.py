"""The paper's numbers: means ± standard errors over its trials, and parameter counts."""

from __future__ import annotations

from typing import NamedTuple

from ..evaluation import Estimate


class Published(NamedTuple):
    """A row of the paper's tables, as printed.

    Attributes:
        mean: "Mean MSE".
        covariance: "Covariance MSE".
        kl_qp: KL(q‖p), in nats.
        kl_pq: KL(p‖q), in nats; None where the paper prints a dash.
        ess: Effective sample size, in percent.
        parameters: Number of parameters.
    """

    mean: Estimate
    covariance: Estimate
    kl_qp: Estimate
    kl_pq: Estimate | None
    ess: Estimate
    parameters: int


def parse_row(text: str, parameters: int) -> Published:
    """Parse a row: "value error" pairs in the table's order, with a dash for none."""
    cells = [cell.split() for cell in text.split("|")]
    found = [None if cell == ["-"] else Estimate(*map(float, cell)) for cell in cells]
    mean, covariance, kl_qp, kl_pq, ess = found
    assert mean is not None
    assert covariance is not None
    assert kl_qp is not None
    assert ess is not None
    return Published(mean, covariance, kl_qp, kl_pq, ess, parameters)


O3_PARAMETERS = 1_368_500
"""Parameters of each model in table 4."""

# By table, density and method, in the paper's order.
PAPER: dict[tuple[str, str, str], Published] = {
    ("table1", "S²", "Deq. ODE (ELBO)"): parse_row(
        ".0012 .0002 | .0006 .0001 | .0046 .0002 | .0046 .0002 | 99.0990 .0401", 5_705
    ),
    ("table1", "S²", "Deq. ODE (I.S.)"): parse_row(
        ".0014 .0002 | .0010 .0001 | .0029 .0001 | .0029 .0001 | 99.4170 .0225", 5_705
    ),
    ("table1", "S²", "Deq. RealNVP (ELBO)"): parse_row(
        ".0004 .0001 | .0003 .0001 | .0231 .0010 | .0212 .0009 | 95.9540 .1688", 5_894
    ),
    ("table1", "S²", "Deq. RealNVP (I.S.)"): parse_row(
        ".0005 .0002 | .0002 .0000 | .0124 .0006 | .0115 .0006 | 97.8240 .1183", 5_894
    ),
    ("table1", "S²", "Man. ODE"): parse_row(
        ".0010 .0004 | .0009 .0002 | .0085 .0007 | .0083 .0007 | 98.3860 .1328", 5_533
    ),
    ("table1", "S²", "Möbius"): parse_row(
        ".0021 .0005 | .0019 .0005 | .0595 .0025 | - | 89.2575 .4888", 5_943
    ),
    ("table2", "S³", "Deq. ODE (ELBO)"): parse_row(
        ".0009 .0001 | .0007 .0001 | .0072 .0002 | .0070 .0002 | 98.6490 .0388", 21_386
    ),
    ("table2", "S³", "Deq. ODE (I.S.)"): parse_row(
        ".0017 .0001 | .0022 .0002 | .0189 .0004 | .0180 .0004 | 96.6150 .0648", 21_386
    ),
    ("table2", "S³", "Deq. RealNVP (ELBO)"): parse_row(
        ".0003 .0001 | .0004 .0001 | .0384 .0010 | .0283 .0005 | 95.1880 .0771", 21_854
    ),
    ("table2", "S³", "Deq. RealNVP (I.S.)"): parse_row(
        ".0003 .0001 | .0003 .0000 | .0208 .0004 | .0180 .0004 | 96.6340 .0920", 21_854
    ),
    ("table2", "S³", "Man. ODE"): parse_row(
        ".0012 .0003 | .0008 .0002 | .0098 .0009 | .0094 .0007 | 98.1780 .1302", 21_204
    ),
    ("table2", "S³", "Möbius"): parse_row(
        ".0027 .0004 | .0014 .0003 | .0542 .0047 | - | 88.7290 .9332", 25_406
    ),
    ("table3", "Correlated", "Deq. RealNVP (ELBO)"): parse_row(
        ".0019 .0007 | .0098 .0019 | .0072 .0005 | .0084 .0006 | 98.6510 .0958", 6_106
    ),
    ("table3", "Correlated", "Deq. RealNVP (I.S.)"): parse_row(
        ".0024 .0007 | .0121 .0041 | .0038 .0004 | .0040 .0004 | 99.2570 .0796", 6_106
    ),
    ("table3", "Correlated", "Modulus"): parse_row(
        ".0017 .0005 | .0072 .0021 | .0025 .0006 | .0025 .0006 | 99.5000 .1153", 5_406
    ),
    ("table3", "Correlated", "Möbius"): parse_row(
        ".0004 .0002 | .0083 .0029 | .0021 .0002 | - | 99.5850 .0332", 5_540
    ),
    ("table3", "Unimodal", "Deq. RealNVP (ELBO)"): parse_row(
        ".0010 .0003 | .0133 .0040 | .0066 .0004 | .0079 .0004 | 98.7240 .0761", 6_106
    ),
    ("table3", "Unimodal", "Deq. RealNVP (I.S.)"): parse_row(
        ".0011 .0003 | .0081 .0020 | .0021 .0002 | .0023 .0002 | 99.5980 .0317", 6_106
    ),
    ("table3", "Unimodal", "Modulus"): parse_row(
        ".0014 .0003 | .0164 .0028 | .0028 .0003 | .0028 .0003 | 99.4340 .0531", 5_406
    ),
    ("table3", "Unimodal", "Möbius"): parse_row(
        ".0006 .0002 | .0055 .0037 | .0008 .0001 | - | 99.8490 .0293", 5_540
    ),
    ("table3", "Multimodal", "Deq. RealNVP (ELBO)"): parse_row(
        ".0024 .0006 | .0158 .0026 | .0065 .0002 | .0075 .0002 | 98.7800 .0379", 6_106
    ),
    ("table3", "Multimodal", "Deq. RealNVP (I.S.)"): parse_row(
        ".0007 .0002 | .0061 .0014 | .0020 .0001 | .0022 .0002 | 99.6160 .0288", 6_106
    ),
    ("table3", "Multimodal", "Modulus"): parse_row(
        ".0016 .0007 | .0063 .0024 | .0035 .0004 | .0035 .0004 | 99.3030 .0725", 5_406
    ),
    ("table3", "Multimodal", "Möbius"): parse_row(
        ".0006 .0001 | .0070 .0039 | .0012 .0002 | - | 99.7600 .0358", 5_540
    ),
    ("table4", "Procrustes", "ELBO - Polar"): parse_row(
        ".0021 .0008 | .0012 .0005 | .0193 .0069 | .0173 .0053 | 96.9489 .7649",
        O3_PARAMETERS,
    ),
    ("table4", "Procrustes", "I.S. - Polar"): parse_row(
        ".0038 .0020 | .0015 .0008 | .0301 .0126 | .0202 .0075 | 95.6944 1.4654",
        O3_PARAMETERS,
    ),
    ("table4", "Procrustes", "ELBO - QR"): parse_row(
        ".0011 .0003 | .0008 .0003 | .0124 .0032 | .0095 .0015 | 97.9678 .3325",
        O3_PARAMETERS,
    ),
    ("table4", "Procrustes", "I.S. - QR"): parse_row(
        ".0015 .0005 | .0011 .0004 | .0174 .0072 | .0122 .0029 | 96.6267 .6326",
        O3_PARAMETERS,
    ),
    ("table4", "SO(3)", "ELBO - Polar"): parse_row(
        ".0007 .0002 | .0029 .0003 | .0443 .0011 | .0415 .0059 | 96.2930 .0649",
        O3_PARAMETERS,
    ),
    ("table4", "SO(3)", "I.S. - Polar"): parse_row(
        ".0004 .0001 | .0014 .0001 | .0207 .0028 | .0235 .0029 | 97.7280 .1136",
        O3_PARAMETERS,
    ),
    ("table4", "SO(3)", "ELBO - QR"): parse_row(
        ".0017 .0004 | .0054 .0006 | .0563 .0060 | .0363 .0041 | 93.5633 2.1331",
        O3_PARAMETERS,
    ),
    ("table4", "SO(3)", "I.S. - QR"): parse_row(
        ".0012 .0004 | .0020 .0004 | .0260 .0017 | .0219 .0021 | 94.3256 2.8099",
        O3_PARAMETERS,
    ),
}
# Limits of KL(q‖p) and of parameters for our own rows; the latter are the paper's smallest rows'.
OWN_LIMITS: dict[tuple[str, str], tuple[float, int]] = {
    ("table1", "S²"): (0.0003, 5_705),
    ("table2", "S³"): (0.0007, 21_386),
    ("table3", "Correlated"): (0.0003, 5_540),
    ("table3", "Unimodal"): (0.0001, 5_540),
    ("table3", "Multimodal"): (0.0002, 5_540),
    ("table4", "Procrustes"): (0.0012, O3_PARAMETERS),
    ("table4", "SO(3)"): (0.0010, O3_PARAMETERS),
}
