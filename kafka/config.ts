import { type Environment, readSettings } from '../settings/read.ts'
import { type KafkaSecurity, kafkaSettings } from './settings.ts'

/**
 * Returns the TLS and SASL settings for the brokers. Use it in processes that do not read the brokers' addresses from
 * the environment.
 * @throws SettingsError that names every invalid variable of Kafka's settings
 */
export function readKafkaSecurity(env: Environment = process.env): KafkaSecurity {
  return readSettings(env, ({ read }) => read(kafkaSettings).value).security
}
