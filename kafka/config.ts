import { type Environment, readSettings } from '../settings/read.ts'
import { type KafkaSecurity, kafkaSettings } from './settings.ts'

/**
 * Returns how to reach the brokers, for processes that get their addresses from elsewhere.
 * @throws SettingsError
 */
export function readKafkaSecurity(env: Environment = process.env): KafkaSecurity {
  return readSettings(env, ({ read }) => read(kafkaSettings).value).security
}
