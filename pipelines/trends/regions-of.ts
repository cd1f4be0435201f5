import { pathOf, WORLDWIDE } from '../../schemas/trends/places/regions.ts'

const ONLY_WORLDWIDE = [WORLDWIDE]

/** Returns the regions in which tweets of a place count. The place is itself a region, so it has a path of regions. */
export function regionsOf(place: number): readonly number[] {
  return pathOf(place) ?? ONLY_WORLDWIDE
}
