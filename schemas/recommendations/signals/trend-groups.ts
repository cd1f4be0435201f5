/** The groups of users for which trending items are computed. */

export const ALL_USERS = 'all'

export function countryGroup(country: string): string {
  return `country:${country}`
}

export function ageGroup(ageBucket: string): string {
  return `age:${ageBucket}`
}
