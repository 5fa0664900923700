import { parseArgs } from 'node:util'
import { nearest } from '../core/nearest.ts'
import { type Command, HelpWanted, UsageError } from './command.ts'

export interface ParsedCommand {
  command: Command
  values: Record<string, string | undefined>
  json: boolean
}

/** Finds the command that the words name and reads its options. */
export function parseCommand(commands: readonly Command[], argv: readonly string[]): ParsedCommand {
  const words = argv.filter((word, index) => !word.startsWith('-') && !isOptionValue(argv, index)).slice(0, 2)
  const command =
    commands.find(({ name }) => name === words.join(' ')) ?? commands.find(({ name }) => name === words[0])
  if (command === undefined) throw unknownCommand(commands, words)
  const rest = [...argv]
  for (const word of command.name.split(' ')) rest.splice(rest.indexOf(word), 1)
  const options = Object.fromEntries(
    Object.keys(command.options).map((name) => [name, { type: 'string' as const }]),
  )
  try {
    const { values } = parseArgs({
      args: rest,
      options: { ...options, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
      allowPositionals: false,
    })
    const { json, help, ...given } = values as Record<string, string | boolean | undefined>
    if (help) throw new HelpWanted(helpOf(command))
    const texts = given as Record<string, string | undefined>
    for (const [name, option] of Object.entries(command.options)) texts[name] ??= option.fallback
    return { command, values: texts, json: json === true }
  } catch (error) {
    if (error instanceof UsageError || error instanceof HelpWanted) throw error
    throw new UsageError(`${(error as Error).message}\n\n${helpOf(command)}`)
  }
}

function isOptionValue(argv: readonly string[], index: number): boolean {
  const before = argv[index - 1]
  return before?.startsWith('--') === true && !before.includes('=') && !['--json', '--help'].includes(before)
}

function unknownCommand(commands: readonly Command[], words: readonly string[]): UsageError {
  const near = nearest(
    words.join(' '),
    commands.map(({ name }) => name),
  )
  const head =
    words.length === 0
      ? ''
      : `There is no command "${words.join(' ')}".${near ? ` Did you mean "${near}"?` : ''}\n\n`
  return new UsageError(head + helpOfAll(commands))
}

export function helpOfAll(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`)
  return `tapeline <command> [options]\n\n${lines.join('\n')}\n\n--json prints for machines; tapeline <command> --help explains one.`
}

function helpOf(command: Command): string {
  const lines = Object.entries(command.options).map(
    ([name, option]) =>
      `  --${name.padEnd(16)} ${option.about}${option.required ? ' (required)' : ''}${option.fallback ? ` [${option.fallback}]` : ''}`,
  )
  return [
    `tapeline ${command.name}: ${command.about}`,
    ...lines,
    `  --${'json'.padEnd(16)} Print for machines.`,
  ].join('\n')
}
