import { z } from 'zod'
import { settingsFragment, type ValueOf } from '../../settings/fragment.ts'
import { documented, flag, wholeNumber } from '../../settings/variables.ts'
import { addressList } from '../kit/address-list.ts'

/** Minimum length of the key. A key of 128 bits has 22 characters in Base64. */
const MIN_HASH_KEY_CHARACTERS = 22
const HOUR_MS = 3_600_000
/** One week. A longer time would be useless, because transactions with older timestamps are refused. */
const MOST_ANSWER_HOURS = 168

function networks(of: string): string {
  return `file with one address or CIDR range of ${of} per line; without it, the corresponding field is missing in rules`
}

export const fraudSettings = settingsFragment({
  variables: {
    FRAUD_HASH_KEY: documented(
      z.string().min(MIN_HASH_KEY_CHARACTERS, `is too short; use at least ${MIN_HASH_KEY_CHARACTERS} random characters`).optional(),
      'key for hashing e-mail addresses and phone numbers of payers; production requires one, the same for all APIs',
      'generated at the first start',
    ),
    SCORE_GATEWAYS: documented(
      addressList.optional(),
      'addresses or CIDR ranges of gateways that may score payments without a token or certificate; compared with the address of the socket, never with a header',
    ),
    SCORE_ANSWER_HOURS: documented(
      wholeNumber(1, MOST_ANSWER_HOURS).prefault('24'),
      'how long, in hours, Redis keeps the answer to a transaction; during this time, a repeated request gets the first answer',
    ),
    FRAUD_COUNTRY_DATABASE: documented(z.string().optional(), 'MaxMind DB file with the countries of IP addresses', 'bundled'),
    FRAUD_VPN_NETWORKS: documented(z.string().optional(), networks('VPNs')),
    FRAUD_TOR_NETWORKS: documented(z.string().optional(), networks('Tor exits')),
    FRAUD_MODELS_DIR: documented(
      z.string().optional(),
      'folder with models of your own (ONNX files and manifests), the same on all APIs; the shipped models are always available',
    ),
    FRAUD_DATACENTER_NETWORKS: documented(z.string().optional(), networks('data centres')),
    FRAUD_GUARD: documented(
      flag.prefault('0'),
      '1: if rules block more than 1 % of the transactions in five minutes, the most recently changed of these rules is put into shadow mode, and the alert is raised; 0: only the alert is raised',
    ),
  },
  rules(env, report, { isProduction }) {
    if (!isProduction || env.FRAUD_HASH_KEY !== undefined) return
    report('FRAUD_HASH_KEY', 'is missing, and with NODE_ENV=production no key is created; set the same random text for all API instances')
  },
  value: (env) => ({
    /**
     * Key for hashing e-mail addresses and phone numbers. Changing the key makes all earlier hashes useless, including
     * the hashes on the blocklist. If undefined, a key is created in the home folder at the first start.
     */
    hashKey: env.FRAUD_HASH_KEY,
    /** Gateways that need no token; if undefined, every caller needs a token or a certificate. */
    gateways: env.SCORE_GATEWAYS,
    modelsDir: env.FRAUD_MODELS_DIR,
    answersKeptMs: env.SCORE_ANSWER_HOURS * HOUR_MS,
    ipSources: {
      countries: env.FRAUD_COUNTRY_DATABASE,
      vpn: env.FRAUD_VPN_NETWORKS,
      tor: env.FRAUD_TOR_NETWORKS,
      datacenter: env.FRAUD_DATACENTER_NETWORKS,
    },
    /** Whether the guard may put a rule into shadow mode. */
    guardActs: env.FRAUD_GUARD,
  }),
})

export type FraudSettings = ValueOf<typeof fraudSettings>
