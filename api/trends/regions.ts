import { type Region, regionOf } from '../../schemas/trends/places/regions.ts'
import { ApiError } from '../kit/errors.ts'
import { trendsErrors } from './errors.ts'

/** Returns a region by its woeid. Throws `unknown_location`. */
export function knownRegion(woeid: number): Region {
  const region = regionOf(woeid)
  if (region === undefined) throw new ApiError(trendsErrors.unknown_location)
  return region
}
