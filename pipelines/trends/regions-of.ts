import { pathOf, WORLDWIDE } from '../../schemas/trends/places/regions.ts'

const ONLY_WORLDWIDE = [WORLDWIDE]

/**
 * Returns the regions to which tweets of a place contribute. The place is itself a region, so it has a path of regions.
 */
export function regionsOf(place: number): readonly number[] {
  return pathOf(place) ?? ONLY_WORLDWIDE
}
