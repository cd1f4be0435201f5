/** The signs that determine the risk of a session; null if a sign is missing. */
export interface SessionSigns {
  readonly loginMethod: string | null
  readonly secondsSinceLogin: number | null
  /** True if the user has paid before, but not with this device within the last 90 days. */
  readonly isNewDevice: boolean | null
  readonly ipCountry: string | null
  readonly cardCountry: string | null
}

/** Risk by login method. The names are in lower case. */
const LOGIN_RISK: ReadonlyMap<string, number> = new Map([
  ['passkey', 0],
  ['biometric', 0],
  ['mfa', 0.05],
  ['otp', 0.1],
  ['sso', 0.1],
  ['social', 0.15],
  ['password', 0.2],
  ['magic_link', 0.2],
  ['sms', 0.25],
])
const OTHER_LOGIN_RISK = 0.3
const NEW_DEVICE_RISK = 0.3
const FOREIGN_IP_RISK = 0.3
/**
 * Risk by seconds since the login. A user who pays immediately after the login may have logged in only for the payment,
 * and a long session may have been stolen.
 */
const LOGIN_AGE_RISK = [
  { belowSeconds: 30, risk: 0.2 },
  { belowSeconds: 120, risk: 0.1 },
  { belowSeconds: 86_400, risk: 0 },
  { belowSeconds: Infinity, risk: 0.1 },
]

/**
 * Adds up the risks of a session (see docs/services/fraud.md#session-risk). Missing signs add nothing.
 * @returns the risk from 0 to 1; null if no risk can be determined
 */
export function sessionRisk({ loginMethod, secondsSinceLogin, isNewDevice, ipCountry, cardCountry }: SessionSigns): number | null {
  const risks: number[] = []
  if (loginMethod !== null) risks.push(LOGIN_RISK.get(loginMethod.toLowerCase()) ?? OTHER_LOGIN_RISK)
  if (secondsSinceLogin !== null) risks.push(LOGIN_AGE_RISK.find(({ belowSeconds }) => secondsSinceLogin < belowSeconds)?.risk ?? 0)
  if (isNewDevice !== null) risks.push(isNewDevice ? NEW_DEVICE_RISK : 0)
  if (ipCountry !== null && cardCountry !== null) risks.push(ipCountry === cardCountry ? 0 : FOREIGN_IP_RISK)
  if (risks.length === 0) return null
  const hundredths = Math.round(risks.reduce((sum, risk) => sum + risk, 0) * 100)
  return Math.min(1, hundredths / 100)
}
