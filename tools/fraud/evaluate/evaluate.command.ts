import { command } from '../../../scripts/command-line/command.ts'
import { duration, required, text } from '../../../scripts/command-line/option.ts'

/**
 * A date without a time, which JavaScript reads as UTC. Many other formats, such as 2018/07/01, would be read in the
 * time zone of the machine.
 */
const DAY = /^\d{4}-\d{2}-\d{2}$/

function isDay(text: string): boolean {
  return DAY.test(text) && !Number.isNaN(Date.parse(text))
}

export default command({
  call: 'npm run fraud:evaluate --',
  description:
    "Trains a model on recorded payments and reports how well it finds the frauds among later payments, compared with a logistic regression on the same inputs. The payments pass through the service's own profiles and features. As with an analyst's verdict, the label of a payment becomes known only after a delay. The model does not learn from payments whose labels are unknown when the test begins. Needs Python 3; its packages are installed into a separate environment on first use.",
  options: {
    train: required(
      text('CSV file, optionally gzipped, with the columns of the payments data set, ordered by time.', { placeholder: 'FILE' }),
    ),
    test: required(
      text('CSV file for the test, in the same format. It may be the --train file, which --test-from divides.', { placeholder: 'FILE' }),
    ),
    'train-from': text('Learns from payments since this day, such as 2018-04-08. Earlier payments only fill the profiles.', {
      placeholder: 'DAY',
    }),
    'train-to': text('Learns from payments before this day. Default: --test-from.', { placeholder: 'DAY' }),
    'test-from': text('Tests on payments since this day. Default: the first payment of the test file.', { placeholder: 'DAY' }),
    'test-to': text('Tests on payments before this day. Default: no limit.', { placeholder: 'DAY' }),
    'label-delay': duration('How long after a payment its label becomes known.', { default: '7d' }),
  },
  check({ train, test, 'test-from': testFrom, ...days }) {
    if (train === test && testFrom === undefined)
      return '--test-from is missing: if --train and --test are the same file, it names the day on which the test payments begin'
    const wrong = Object.entries({ 'test-from': testFrom, ...days }).find(
      ([name, value]) => name !== 'label-delay' && value !== undefined && !isDay(String(value)),
    )
    return wrong === undefined ? undefined : `--${wrong[0]} must be a day such as 2018-07-01`
  },
  examples: [
    ['--train payments.csv.gz --test payments.csv.gz --test-from 2018-07-01', 'Learns from everything before July and tests on the rest.'],
    ['--train may.csv --test june.csv', 'Reads two files. A payment that is in both files counts once.'],
  ],
})
