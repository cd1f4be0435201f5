import { type Environment, readSettings } from '../settings/read.ts'
import { type KafkaSecurity, kafkaSettings } from './settings.ts'

/**
 * Returns the TLS and sign-in settings for the brokers. Processes that do not read the addresses of the brokers from
 * the environment use this function.
 * @throws SettingsError
 */
export function readKafkaSecurity(env: Environment = process.env): KafkaSecurity {
  return readSettings(env, ({ read }) => read(kafkaSettings).value).security
}
