import { type KafkaSettings, kafkaSettings } from '../../kafka/settings.ts'
import { type Environment, readSettings } from '../../settings/read.ts'
import { withRunningServers } from '../config.ts'

/**
 * Reads the settings for the brokers, which store the dead letters, and for the schema registry. Without settings, the
 * servers of the running stack are used.
 * @throws SettingsError if a setting is missing or invalid
 */
export function readDlqConfig(env: Environment = process.env): KafkaSettings {
  return readSettings(withRunningServers(env), ({ read }) => read(kafkaSettings).value)
}
