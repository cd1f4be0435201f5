/**
 * Decides whether a stage that is `behindMs` late still closes a time. Up to `periodMs` late it closes every time, up
 * to twice that only multiples of 2 × `periodMs`, up to four times that only multiples of 4 × `periodMs`, and so on.
 * Handlers that take longer than a period thus close fewer times instead of falling behind without a limit.
 *
 * Every partition decides by itself, and the partitions still agree: the multiples of a coarser step are also multiples
 * of the finer ones, so all partitions close the times that the most delayed partition closes.
 */
export function isClosedBehind(time: number, behindMs: number, periodMs: number): boolean {
  if (behindMs <= periodMs) return true
  let stepMs = periodMs
  for (let boundMs = periodMs; behindMs > boundMs; boundMs *= 2) stepMs *= 2
  return time % stepMs === 0
}
