import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { type CountryResponse, Reader } from 'mmdb-lib'

/**
 * The bundled database. It contains data from the regional registries (NRO, CC BY 4.0) for IPv4 and IPv6, and takes 8
 * MB of memory.
 */
const BUNDLED = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb'

/** A dual-stack socket reports IPv4 addresses with this prefix. */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i
const COUNTRY_CODE = /^[A-Z]{2}$/
/**
 * Codes that content delivery networks and databases use instead of a country: for an unknown country (XX, ZZ), for
 * Tor, anonymous proxies and satellite links (T1, A1, A2), and for a continent (AP, EU).
 */
const NO_COUNTRY = new Set(['XX', 'T1', 'ZZ', 'A1', 'A2', 'AP', 'EU'])

/**
 * Codes in common use for countries whose ISO 3166-1 code is different. ISO assigns these codes to no other country.
 */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['UK', 'GB'],
  ['EL', 'GR'],
])

/** A record in one of the two usual forms: that of MaxMind and DB-IP, or the flat form of the bundled database. */
type CountryRecord = Partial<CountryResponse> & { readonly country_code?: string }

/**
 * Returns the country of an address, ISO 3166-1 alpha-2; undefined if the country is unknown or if the text is not an
 * IP address.
 */
export type CountryOfAddress = (ip: string) => string | undefined

/**
 * Opens a MaxMind DB file that maps addresses to countries.
 * @param path undefined for the bundled database
 * @throws Error if the file cannot be read or is not a MaxMind DB
 */
export function openCountryDatabase(path: string | undefined): CountryOfAddress {
  const file = path ?? createRequire(import.meta.url).resolve(BUNDLED)
  let database: Reader<CountryResponse>
  try {
    database = new Reader<CountryResponse>(readFileSync(file))
  } catch (error) {
    throw new Error(`the country database ${file} cannot be read (${(error as Error).message})`)
  }

  return function countryOfAddress(ip) {
    // The reader does not validate addresses: it would also parse invalid text, such as `1.2.3`.
    if (isIP(ip) === 0) return undefined
    const record = database.get(ip.replace(MAPPED_IPV4, '')) as CountryRecord | null
    return knownCountry(record?.country_code ?? record?.country?.iso_code ?? '')
  }
}

/**
 * Returns the ISO 3166-1 code of a country; undefined if the code is not two capital letters or is in `NO_COUNTRY`.
 * Does not check whether ISO assigns any other code.
 */
export function knownCountry(code: string): string | undefined {
  return COUNTRY_CODE.test(code) && !NO_COUNTRY.has(code) ? (ALIASES.get(code) ?? code) : undefined
}
