import { command } from '../scripts/command-line/command.ts'
import { integer, text } from '../scripts/command-line/option.ts'

export default command({
  call: 'node bench/kafka-transport.ts',
  description:
    'Measures the throughput of the Kafka transport alone, without an engine or state, on a running broker. Prints JSON lines with records per second and CPU seconds per million records.',
  positionals: {
    BROKERS: text('The broker, host:port.', { default: '127.0.0.1:9092' }),
    RECORDS: integer('Records per job.', { default: 1_000_000, min: 1 }),
  },
  examples: [['127.0.0.1:9092 100000', 'Runs a short measurement.']],
})
