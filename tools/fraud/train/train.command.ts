import { MODEL_VERSION } from '../../../schemas/fraud/models/manifest.ts'
import { command } from '../../../scripts/command-line/command.ts'
import { integer, text } from '../../../scripts/command-line/option.ts'

/** Version of the shipped models. An API ignores other models with this version. */
const SHIPPED_VERSION = '1'

export default command({
  call: 'npm run fraud:train --',
  description:
    'Trains the three default models on generated payments with seven patterns of fraud, and finds their thresholds. Reports how well the models and the seeded rules perform on payments of a different seed. Needs Python 3; its packages are installed into a separate environment on first use.',
  options: {
    people: integer('Number of people who make the generated payments.', { default: 2000, min: 100 }),
    days: integer('Number of days that the generated payments cover.', { default: 40, min: 10 }),
    occurrences: integer('How often each pattern occurs.', { default: 120, min: 10 }),
    seed: integer('Seed of the generated training payments. Calibration and report use the next two numbers as seeds.', { default: 1 }),
    version: text('Version of the models. With --out, it must differ from the version of the shipped models.', {
      default: SHIPPED_VERSION,
    }),
    out: text('Folder for the models. Default: the folder of the shipped models.', { placeholder: 'FOLDER' }),
  },
  check({ version, out }) {
    if (!MODEL_VERSION.test(version)) return '--version must be 1 to 50 letters, digits, dots, dashes or underscores'
    return out !== undefined && version === SHIPPED_VERSION
      ? `--out needs a --version other than ${SHIPPED_VERSION}, which is the version of the shipped models`
      : undefined
  },
  examples: [['--out models --version mine', 'Writes models for FRAUD_MODELS_DIR.']],
})
