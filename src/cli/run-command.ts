import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearest } from '../core/nearest.ts'
import { type CommandForm, HelpWanted, UsageError } from './command.ts'

export interface ParsedCommand {
  command: CommandForm
  values: Record<string, string | undefined>
  json: boolean
}

const HELP_WORDS = ['--help', '-h']

/** Finds the command and parses its options. */
export function parseCommand(commands: readonly CommandForm[], argv: readonly string[]): ParsedCommand {
  const flags = flagsOf(commands)
  const words = argv.filter((word, index) => !word.startsWith('-') && !isOptionValue(argv, index, flags))
  if (words.length === 0 && argv.every((word) => HELP_WORDS.includes(word)))
    throw new HelpWanted(helpOfAll(commands))
  if (words[0] === 'help') throw new HelpWanted(helpAbout(commands, words.slice(1)))
  const command =
    commands.find(({ name }) => name === words.slice(0, 2).join(' ')) ??
    commands.find(({ name }) => name === words[0])
  if (command === undefined) {
    if (argv.some((word) => HELP_WORDS.includes(word))) throw new HelpWanted(helpAbout(commands, words))
    throw wrongCommand(commands, words)
  }
  const rest = [...argv]
  for (const word of command.name.split(' ')) rest.splice(rest.indexOf(word), 1)
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { isFlag }]) => [
      name,
      { type: isFlag ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  try {
    const known = { ...options, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const
    refuseWrongOptions(rest, known, command)
    const { values } = parseArgs({ args: rest, options: known, allowPositionals: false })
    const { json, help, ...given } = values as Record<string, string | boolean | undefined>
    if (help) throw new HelpWanted(helpOf(command))
    const texts: Record<string, string | undefined> = {}
    for (const [name, value] of Object.entries(given)) texts[name] = value === true ? 'on' : String(value)
    for (const [name, option] of Object.entries(command.options)) texts[name] ??= option.fallback
    return { command, values: texts, json: json === true }
  } catch (error) {
    if (error instanceof UsageError || error instanceof HelpWanted) throw error
    throw new UsageError(`${(error as Error).message}\n\n${helpOf(command)}`)
  }
}

/**
 * Reports the first wrong option and which one was probably meant. An option given twice is refused, because one of its
 * values would be lost.
 */
function refuseWrongOptions(
  args: readonly string[],
  options: NonNullable<ParseArgsConfig['options']>,
  command: CommandForm,
): void {
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true })
  const seen = new Set<string>()
  for (const token of tokens) {
    // A value that begins with a dash looks like short options; the error of parseArgs explains how to write it.
    if (token.kind !== 'option' || !token.rawName.startsWith('--')) continue
    if (!(token.name in options)) {
      const near = nearest(token.name, Object.keys(options))
      const hint = near === undefined ? '' : ` Did you mean --${near}?`
      throw new UsageError(
        `tapeline ${command.name} has no option ${token.rawName}.${hint}\n\n${helpOf(command)}`,
      )
    }
    // This is an unset variable in a script, which must mean neither 0 nor "left out".
    if (token.value !== undefined && token.value.trim() === '')
      throw new UsageError(`--${token.name} is empty.`)
    if (seen.has(token.name)) throw new UsageError(`--${token.name} is given twice.`)
    seen.add(token.name)
  }
}

/** Options that take no value in any command. */
function flagsOf(commands: readonly CommandForm[]): Set<string> {
  const options = commands.flatMap((command) => Object.entries(command.options))
  const valued = new Set(options.filter(([, { isFlag }]) => isFlag !== true).map(([name]) => name))
  const flags = options.map(([name]) => name).filter((name) => !valued.has(name))
  return new Set(['json', 'help', ...flags].map((name) => `--${name}`))
}

function isOptionValue(argv: readonly string[], index: number, flags: ReadonlySet<string>): boolean {
  const before = argv[index - 1]
  return before?.startsWith('--') === true && !before.includes('=') && !flags.has(before)
}

/** `accounts` alone is the beginning of several commands. */
function groupOf(commands: readonly CommandForm[], word: string | undefined): CommandForm[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `))
}

/** `help`, `help accounts`, `help accounts create`. */
function helpAbout(commands: readonly CommandForm[], words: readonly string[]): string {
  if (words.length === 0) return helpOfAll(commands)
  const command = commands.find(({ name }) => name === words.join(' '))
  if (command !== undefined) return helpOf(command)
  const group = words.length === 1 ? groupOf(commands, words[0]) : []
  if (group.length > 0) return helpOfAll(group, words[0])
  throw wrongCommand(commands, words)
}

function wrongCommand(commands: readonly CommandForm[], words: readonly string[]): UsageError {
  const [word] = words
  if (word === undefined) return new UsageError(helpOfAll(commands))
  const group = groupOf(commands, word)
  if (group.length > 0 && words.length === 1)
    return new UsageError(`"${word}" needs one more word.\n\n${helpOfAll(group, word)}`)
  const name = words.slice(0, 2).join(' ')
  const known = [...commands.map((command) => command.name), ...commands.map((each) => firstWord(each))]
  const near = nearest(name, known) ?? nearest(word, known)
  const hint = near === undefined ? '' : ` Did you mean "${near}"?`
  const list = group.length > 0 ? helpOfAll(group, word) : helpOfAll(commands)
  return new UsageError(`There is no command "${name}".${hint}\n\n${list}`)
}

const firstWord = ({ name }: CommandForm): string => name.split(' ')[0] ?? name

export function helpOfAll(commands: readonly CommandForm[], group?: string): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const listed = (some: readonly CommandForm[]) =>
    some.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`).join('\n')
  const { yes = [], no = [] } = Object.groupBy(commands, ({ isForCustomers }) =>
    isForCustomers ? 'yes' : 'no',
  )
  const list =
    group === undefined
      ? `To read from a running service:\n${listed(yes)}\n\nTo run one:\n${listed(no)}`
      : listed(commands)
  const head = group === undefined ? 'tapeline <command> [options]' : `tapeline ${group} <what> [options]`
  const example = commands[0]?.name ?? '<command>'
  return `${head}\n\n${list}\n\n--json prints for machines; tapeline help ${group === undefined ? '<command>' : example} explains one.`
}

function helpOf(command: CommandForm): string {
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
