import { pathOf, WORLDWIDE } from '../../schemas/trends/places/regions.ts'

const ONLY_WORLDWIDE = [WORLDWIDE]

/**
 * Returns the regions to which the tweets of a place contribute: the place itself and the regions that enclose it. An
 * unknown place contributes only to the world.
 */
export function regionsOf(place: number): readonly number[] {
  return pathOf(place) ?? ONLY_WORLDWIDE
}
