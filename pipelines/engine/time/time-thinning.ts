/**
 * Whether a stage that comes to a time so late still closes it. Up to `periodMs` behind it closes every time, up to twice that only multiples of
 * 2 × `periodMs`, up to four times that only multiples of 4 × `periodMs`, and so on: handlers that take longer than a period close fewer times
 * instead of falling behind without bound.
 *
 * Every partition decides by itself, and they still agree: the times of a coarser step are among those of all finer ones, so what the
 * latest partition closes, all close.
 */
export function isClosedBehind(time: number, behindMs: number, periodMs: number): boolean {
  if (behindMs <= periodMs) return true
  let stepMs = periodMs
  for (let boundMs = periodMs; behindMs > boundMs; boundMs *= 2) stepMs *= 2
  return time % stepMs === 0
}
