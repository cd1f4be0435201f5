/**
 * Decides whether a stage that is `behindMs` late still closes a time. A stage that is up to `periodMs` late closes
 * every time. A stage that is up to 2 × `periodMs` late closes only multiples of 2 × `periodMs`. A stage that is up to
 * 4 × `periodMs` late closes only multiples of 4 × `periodMs`, and so on. If handlers take longer than a period, the
 * stage therefore closes fewer times instead of falling behind without limit.
 *
 * Every partition decides by itself. Multiples of a coarser step are also multiples of all finer steps, so every
 * partition closes at least the times that the most delayed partition closes.
 */
export function isClosedBehind(time: number, behindMs: number, periodMs: number): boolean {
  if (behindMs <= periodMs) return true
  let stepMs = periodMs
  for (let boundMs = periodMs; behindMs > boundMs; boundMs *= 2) stepMs *= 2
  return time % stepMs === 0
}
