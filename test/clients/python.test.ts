/** The Python client's own tests, with the standard library alone and with the libraries for data frames. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { FULL_PYTHON, PYTHON, SKIP_FRAMES, SKIP_PYTHON } from './pythons.ts'
import { signedDeliveries } from './signed-deliveries.ts'

const FOLDER = join(import.meta.dirname, '../../clients/python')

/** Even where they are installed. */
const WITHOUT_LIBRARIES = `
import sys, unittest
for name in ("pandas", "polars", "pyarrow", "numpy"):
    sys.modules[name] = None
unittest.main(module=None, argv=["unittest", "discover", "-s", "tests", "-t", "."])
`

function unittest(python: string, args: readonly string[], env: Record<string, string> = {}) {
  return new Promise<{ error: unknown; output: string }>((resolve) => {
    execFile(python, args, { cwd: FOLDER, env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resolve({ error, output: stdout + stderr }),
    )
  })
}

describe('unittest', { concurrency: true }, () => {
  test('with the standard library alone', { skip: SKIP_PYTHON }, async (t) => {
    const signed = JSON.stringify(signedDeliveries())
    const { error, output } = await unittest(PYTHON, ['-c', WITHOUT_LIBRARIES], { TAPELINE_SIGNED: signed })
    assert.equal(error, null, output)
    t.diagnostic(output.trim().split('\n').slice(-3).join(' '))
  })

  test('with pandas, polars and pyarrow', { skip: SKIP_FRAMES }, async (t) => {
    const args = ['-m', 'unittest', 'tests.test_frames']
    const { error, output } = await unittest(FULL_PYTHON, args, { TAPELINE_FRAMES: 'on' })
    assert.equal(error, null, output)
    t.diagnostic(output.trim().split('\n').slice(0, 1).join(' '))
  })
})
