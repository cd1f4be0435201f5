const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/** `90s`, `10m`, `1.5h` as ms. @throws Error that names the option */
export function parseDuration(option: string, text: string): number {
  const match = DURATION.exec(text)
  if (match === null) throw new UsageError(`--${option} ${text}: give a number with a unit, such as 90s, 10m or 1h`)
  return Number(match[1]) * UNITS_MS[match[2]]
}

/** @throws UsageError when it is no number, or below `least` */
export function parseNumber(option: string, text: string, least: number): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < least)
    throw new UsageError(`--${option} ${text}: give a number of at least ${least}`)
  return value
}

/** The command line is wrong: a message is all that is needed. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError'
}
