/** Lower ends of the price ranges for which searches count products, in major units of the currency. */
const PRICE_STEPS = [0, 25, 50, 100, 200, 500] as const
const CENTS = 100

/** The price ranges in ascending order. A range includes its lower end and excludes its upper one. */
export const PRICE_BANDS: readonly string[] = PRICE_STEPS.map((low, at) =>
  at + 1 < PRICE_STEPS.length ? `${low}-${PRICE_STEPS[at + 1]}` : `${low}+`,
)

export function priceBandOf(priceCents: number): string {
  const above = PRICE_STEPS.findIndex((low) => priceCents < low * CENTS)
  return PRICE_BANDS[above < 0 ? PRICE_BANDS.length - 1 : above - 1]
}
