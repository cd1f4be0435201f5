import { type KafkaSettings, kafkaSettings } from '../../kafka/settings.ts'
import { type Environment, readSettings } from '../../settings/read.ts'

/**
 * Reads the settings for the brokers, which store the dead letters, and for the schema registry.
 * @throws SettingsError if a setting is missing or invalid
 */
export function readDlqConfig(env: Environment = process.env): KafkaSettings {
  return readSettings(env, ({ read }) => read(kafkaSettings).value)
}
