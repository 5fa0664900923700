/**
 * What the self-checks of the recorders found in the sandbox. Runs after everything else that uses it, so that data
 * recorded through faults, a full disk and restarts is examined too, and the first check of each source is done.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../fakes/client.ts'
import { metricOf, useSandboxService } from '../fakes/sandbox-service.ts'
import { until } from '../until.ts'

const EXCHANGES = ['cexa', 'cexa_futures', 'perpdex']
/** The first check of a source happens within a minute. */
const FIRST_CHECK_MS = 90_000

const sandbox = useSandboxService()

test('self-checks examine what is stored and find nothing, whatever happened before', async () => {
  const used = await sandbox()
  const audits = async () => {
    // The key allows 50 requests a second.
    await new Promise((resolve) => setTimeout(resolve, 200))
    const { json } = await ask(`${used.service.url}/v1/status`, { key: used.key })
    const rows = json.ingestion as { source: string; audit: { checked: number; differences: number } }[]
    return rows.filter(({ source }) => EXCHANGES.includes(source)).map(({ audit }) => audit)
  }
  const areExamined = async () => {
    const found = await audits()
    return found.length === EXCHANGES.length && found.every(({ checked }) => checked > 0)
  }
  await until('every exchange is examined', areExamined, FIRST_CHECK_MS)
  assert.deepEqual(
    (await audits()).map(({ differences }) => differences),
    [0, 0, 0],
  )
  const labels = (check: string) => `{environment="test",source="cexa",check="${check}"}`
  for (const check of ['sealed', 'coverage', 'venue', 'limits']) {
    assert.notEqual(await metricOf(used, `tapeline_audit_checked_total${labels(check)}`), undefined)
    assert.equal(await metricOf(used, `tapeline_audit_differences_total${labels(check)}`), 0)
  }
})
