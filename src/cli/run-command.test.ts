import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from './command.ts'
import { KEY_COMMANDS } from './keys-commands.ts'
import { parseCommand } from './run-command.ts'

test('an empty value, such as of an unset variable, is refused: it is neither 0 nor left out', () => {
  const rotate = ['keys', 'rotate', '--key', 'key_1']
  for (const given of [['--overlap-hours', ''], ['--overlap-hours', ' \t'], ['--overlap-hours=']])
    assert.throws(
      () => parseCommand(KEY_COMMANDS, [...rotate, ...given]),
      (error) => error instanceof UsageError && error.message === '--overlap-hours is empty.',
    )
  assert.equal(parseCommand(KEY_COMMANDS, rotate).values['overlap-hours'], '24')
  assert.equal(parseCommand(KEY_COMMANDS, [...rotate, '--overlap-hours', '0']).values['overlap-hours'], '0')
})
