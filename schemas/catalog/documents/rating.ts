/**
 * Number of assumed prior ratings. If there are few actual ratings, the assumed ones pull the mean towards the prior
 * mean.
 */
const PRIOR_RATINGS = 10
export const PRIOR_MEAN = 3.5

export const LEAST_STARS = 1
export const MOST_STARS = 5

/** Returns the mean of the ratings together with 10 prior ratings of 3.5. Ratings are from 1 to 5. */
export function meanWithPrior(sum: number, count: number): number {
  return (PRIOR_RATINGS * PRIOR_MEAN + sum) / (PRIOR_RATINGS + count)
}

/** Maps a mean from 1 to 5 to a factor from 0 to 1. */
export function ratingFactor(mean: number): number {
  return (mean - LEAST_STARS) / (MOST_STARS - LEAST_STARS)
}
