import { command } from '../../scripts/command-line/command.ts'
import { choice, flag, integer, repeated, required, text } from '../../scripts/command-line/option.ts'

/** What selects single dead letters. */
const CONDITIONS = ['offset', 'code', 'source', 'processor'] as const

export default command({
  call: 'npm run dlq --',
  description:
    'Lists dead letters by code, shows where they come from and why they failed, or replays them: sends them back, once, to the topics that they came from. All conditions must hold together.',
  positionals: {
    COMMAND: required(choice('list, show or replay.', ['list', 'show', 'replay'])),
    NAME: text('Topology or sink; list takes all without it.'),
  },
  options: {
    offset: repeated(integer('show, replay: one dead letter; may be given several times.')),
    code: text('show, replay: an error code, such as undecodable_value.', { placeholder: 'CODE' }),
    source: text('show, replay: the topic that they came from.', { placeholder: 'TOPIC' }),
    processor: text('show, replay: the processor that failed.', { placeholder: 'NAME' }),
    limit: integer('show: at most this many.', { default: 20 }),
    all: flag('replay: every dead letter; needed when no condition is given.'),
    again: flag('replay: also those that were replayed before (they come twice) or that came back.'),
  },
  environment: {
    KAFKA_BROKERS: 'As for workers. Default: the local broker.',
    SCHEMA_REGISTRY_URL: 'As for workers. Default: the local registry.',
    LOG_LEVEL: 'As for workers.',
  },
  examples: [
    ['list', 'What has failed, by code.'],
    ['replay NAME --code undecodable_value', 'Sends those back.'],
  ],
  check(values) {
    if (values.COMMAND === 'list') return undefined
    if (values.NAME === undefined) return `${values.COMMAND} needs the NAME of a topology or sink`
    const isChosen = values.all || CONDITIONS.some((name) => values[name] !== undefined && values[name].length > 0)
    return values.COMMAND === 'replay' && !isChosen ? 'say which to replay: give a condition, or --all' : undefined
  },
})
