import { type CountryOfAddress, openCountryDatabase } from '../../../runtime/country-database.ts'
import type { FraudIpFacts } from '../../../schemas/fraud/types.ts'
import { type NetworkList, readNetworkList } from './network-list.ts'

/** Files with facts about IP addresses. */
export interface IpSources {
  /** A MaxMind DB file with countries. If undefined, the bundled file is used. */
  readonly countries: string | undefined
  /** Files with networks. If a file is undefined, the corresponding fact is missing for all addresses. */
  readonly vpn: string | undefined
  readonly tor: string | undefined
  readonly datacenter: string | undefined
}

/** Returns the facts about a canonical IP address. If the address is null, all facts are missing. */
export type IpFactsOf = (address: string | null) => FraudIpFacts

const UNKNOWN: FraudIpFacts = { geo_country: null, is_vpn: null, is_tor: null, is_datacenter: null }

/**
 * Reads the files once. A changed file takes effect after a restart.
 * @throws Error that names a file that cannot be used
 */
export function openIpFacts({ countries, ...lists }: IpSources): IpFactsOf {
  const countryOf: CountryOfAddress = openCountryDatabase(countries)
  const open = (file: string | undefined): NetworkList | undefined => (file === undefined ? undefined : readNetworkList(file))
  const [vpn, tor, datacenter] = [open(lists.vpn), open(lists.tor), open(lists.datacenter)]
  return (address) => {
    if (address === null) return UNKNOWN
    return {
      geo_country: countryOf(address) ?? null,
      is_vpn: vpn?.includes(address) ?? null,
      is_tor: tor?.includes(address) ?? null,
      is_datacenter: datacenter?.includes(address) ?? null,
    }
  }
}
