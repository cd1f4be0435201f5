import { command } from '../../../scripts/command-line/command.ts'
import { integer, text } from '../../../scripts/command-line/option.ts'

export default command({
  call: 'npm run fraud:train --',
  description:
    'Trains the three default models on generated payments with seven patterns of fraud, finds their thresholds, and reports how well they and the seeded rules do on payments of another seed. Needs Python 3; its packages are installed into a separate environment on first use.',
  options: {
    people: integer('Number of people who make the generated payments.', { default: 2000, min: 100 }),
    days: integer('Number of days that the generated payments cover.', { default: 40, min: 10 }),
    occurrences: integer('How often each pattern occurs.', { default: 120, min: 10 }),
    seed: integer('Seed of the training payments. Calibration and report use the next two numbers as seeds.', { default: 1 }),
    version: text('Version of the models.', { default: '1' }),
    out: text('Folder for the models. Default: the folder of the shipped models.', { placeholder: 'FOLDER' }),
  },
  examples: [['--out models --version mine', 'Writes models for FRAUD_MODELS_DIR.']],
})
