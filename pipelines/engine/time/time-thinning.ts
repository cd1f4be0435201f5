/**
 * Decides whether a stage that is `behindMs` late still closes a time. A stage that is up to `periodMs` late closes
 * every time. If it is up to twice as late, it closes only multiples of 2 × `periodMs`; up to four times as late, only
 * multiples of 4 × `periodMs`, and so on. Handlers that take longer than a period thus close fewer times instead of
 * falling behind without a limit.
 *
 * Every partition decides by itself, but the partitions still agree. Multiples of a coarser step are also multiples of
 * all finer steps, so every partition closes the times that the most delayed partition closes.
 */
export function isClosedBehind(time: number, behindMs: number, periodMs: number): boolean {
  if (behindMs <= periodMs) return true
  let stepMs = periodMs
  for (let boundMs = periodMs; behindMs > boundMs; boundMs *= 2) stepMs *= 2
  return time % stepMs === 0
}
