import { type CountryOfAddress, knownCountry, openCountryDatabase } from '../../../runtime/country-database.ts'
import { UNKNOWN } from './user-agent.ts'

/**
 * Creates a function that finds the country of a visitor.
 * @param path a MaxMind DB file with countries; undefined for the bundled file
 * @returns a function that returns ISO 3166-1 alpha-2 codes, or `unknown`. Its parameter `given` is the country that
 * the producer names; if it is not empty, the address is not looked up. `ip` may be any text.
 * @throws Error if the file cannot be read or is not a MaxMind DB
 */
export function countryReader(path: string | undefined): (given: string, ip: string) => string {
  const countryOf = openDatabase(path)
  return function readCountry(given, ip) {
    if (given !== '') return knownCountry(given.toUpperCase()) ?? UNKNOWN
    return (ip === '' ? undefined : countryOf(ip)) ?? UNKNOWN
  }
}

function openDatabase(path: string | undefined): CountryOfAddress {
  try {
    return openCountryDatabase(path)
  } catch (error) {
    throw new Error(`${(error as Error).message}; set GEOIP_DATABASE to a MaxMind DB file`)
  }
}
