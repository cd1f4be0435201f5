import { type KafkaSettings, kafkaSettings } from '../kafka/settings.ts'
import { type Surroundings, settingsFragment, type ValueOf, type Variables } from '../settings/fragment.ts'
import { type Environment, readSettings } from '../settings/read.ts'
import { documented, namesOf } from '../settings/variables.ts'
import { type StateSettings, stateSettings } from '../state/settings.ts'
import { type AuthSettings, authSettings } from './kit/auth/settings.ts'
import { isLoopbackHost } from './kit/client-address.ts'
import { apiSettings } from './kit/settings.ts'
import { type TlsSettings, tlsSettings } from './kit/tls/settings.ts'
import type { ApiService } from './service.ts'
import { apiServices } from './services.ts'

/** A service that this process runs, with its settings. */
export interface ChosenService {
  readonly service: ApiService
  readonly settings: unknown
}

export interface ApiConfig extends ValueOf<typeof apiSettings> {
  readonly services: readonly ChosenService[]
  readonly kafka: KafkaSettings
  readonly state: StateSettings
  readonly auth: AuthSettings
  /** Settings of the TLS port; undefined if the process has no TLS port. */
  readonly tls: TlsSettings | undefined
  readonly surroundings: Surroundings
}

const names = apiServices.map(({ name }) => name)

const choiceSettings = settingsFragment({
  variables: {
    API_SERVICES: documented(namesOf(names).prefault(names.join(',')), `services that APIs run: ${names.join(', ')}`, 'all'),
  },
  value: (env) => env.API_SERVICES,
})

const { API_HOST } = apiSettings.variables
const { AUTH_JWKS_URL, AUTH_JWKS_FILE } = authSettings.variables

/**
 * Accepts the development key only on a server that other machines cannot reach, because anyone who can read this
 * machine's files can sign with the key.
 */
const developmentKeyRule = settingsFragment({
  variables: { API_HOST, AUTH_JWKS_URL, AUTH_JWKS_FILE },
  rules(env, report, { isProduction }) {
    const isDevelopment = !isProduction && env.AUTH_JWKS_URL === undefined && env.AUTH_JWKS_FILE === undefined
    if (isDevelopment && !isLoopbackHost(env.API_HOST)) {
      report(
        'AUTH_JWKS_URL',
        'is missing: the development key must not be used, because API_HOST is not loopback; set AUTH_JWKS_URL or AUTH_JWKS_FILE',
      )
    }
  },
  value: () => undefined,
})

/**
 * The API's own variables, which do not depend on its services. The variables of Kafka and of the state are not
 * included.
 */
export const API_VARIABLES: readonly Variables[] = [
  choiceSettings.variables,
  apiSettings.variables,
  tlsSettings.variables,
  authSettings.variables,
]

/**
 * Reads the configuration of an API process.
 * @throws SettingsError that lists every wrong setting and what is wrong with it
 */
export function readApiConfig(env: Environment = process.env): ApiConfig {
  return readSettings(env, ({ read, surroundings }) => {
    const choice = read(choiceSettings)
    const chosen = choice.peek() ?? names
    const services = apiServices.map((service) => ({
      service,
      isChosen: chosen.includes(service.name),
      // Variables of services that do not run are also checked if they are set.
      settings: read(service.settings, { withRules: chosen.includes(service.name) }),
    }))
    read(developmentKeyRule)
    const [api, auth, tls] = [read(apiSettings), read(authSettings), read(tlsSettings)]
    const [kafka, state] = [read(kafkaSettings), read(stateSettings)]
    return () => ({
      ...api.value(),
      auth: auth.value(),
      tls: tls.value(),
      kafka: kafka.value(),
      state: state.value(),
      surroundings,
      services: services.filter(({ isChosen }) => isChosen).map(({ service, settings }) => ({ service, settings: settings.value() })),
    })
  })
}
