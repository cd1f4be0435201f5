/** The groups of users whose trending items are known. */

export const ALL_USERS = 'all'

export function countryGroup(country: string): string {
  return `country:${country}`
}

export function ageGroup(ageBucket: string): string {
  return `age:${ageBucket}`
}
