import { type KafkaSettings, kafkaSettings } from '../../../kafka/settings.ts'
import { type Environment, readSettings } from '../../../settings/read.ts'
import { type StateSettings, stateSettings } from '../../../state/settings.ts'

/**
 * The settings that the training program needs to find its data. The program inherits the environment of the worker
 * that starts it.
 */
export interface TrainingConfig {
  readonly kafka: KafkaSettings
  readonly state: StateSettings
}

/**
 * Reads the settings of the training program.
 * @throws SettingsError that names every invalid variable
 */
export function readTrainingConfig(env: Environment = process.env): TrainingConfig {
  return readSettings(env, ({ read }) => {
    const [kafka, state] = [read(kafkaSettings), read(stateSettings)]
    return () => ({ kafka: kafka.value(), state: state.value() })
  })
}
