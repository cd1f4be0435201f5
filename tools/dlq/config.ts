import { type KafkaSettings, kafkaSettings } from '../../kafka/settings.ts'
import { type Environment, readSettings } from '../../settings/read.ts'

/**
 * Returns the servers that store the dead letters.
 * @throws SettingsError if a setting is missing or invalid
 */
export function readDlqConfig(env: Environment = process.env): KafkaSettings {
  return readSettings(env, ({ read }) => read(kafkaSettings).value)
}
