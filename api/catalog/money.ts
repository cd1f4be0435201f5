const CENTS = 100

/** Converts cents to major units. The quotient is the double that is nearest to the decimal number. */
export function majorUnits(cents: number): number {
  return cents / CENTS
}
