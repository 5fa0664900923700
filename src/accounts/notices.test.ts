import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { createNotices, type NoticeInput } from './notices.ts'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 10, 16)

function open() {
  const clock = manualClock(NOW)
  const store = storesIn(':memory:', clock).accounts()
  let count = 0
  const randomBytes = (size: number) => Buffer.alloc(size, ++count)
  return { clock, store, notices: createNotices({ store, clock, randomBytes }) }
}

const notice = (title: string, startsAtMs: number, endsAtMs: number | null): NoticeInput => ({
  kind: 'maintenance',
  title,
  text: '',
  startsAtMs,
  endsAtMs,
})

test('maintenance is announced a week before and until its end; an incident only while it goes on', async () => {
  const { clock, store, notices } = open()
  await notices.create(notice('planned', NOW + 8 * DAY, NOW + 9 * DAY))
  await notices.create({ ...notice('incident', NOW + DAY, NOW + 2 * DAY), kind: 'incident' })
  const current = async () => (await notices.current()).map(({ title }) => title)
  const seen: [day: number, titles: string[]][] = []
  for (let day = 0; day <= 9; day++) {
    seen.push([day, await current()])
    clock.advance(DAY)
  }
  assert.deepEqual(seen, [
    [0, []],
    [1, ['planned', 'incident']],
    ...[2, 3, 4, 5, 6, 7, 8].map((day): [number, string[]] => [day, ['planned']]),
    [9, []],
  ])
  await store.close()
})

test('there are at most 200 of the last 90 days; one more is refused until one is deleted or old', async () => {
  const { clock, store, notices } = open()
  for (let i = 0; i < 200; i++) await notices.create(notice(`${i}`, NOW + i, NOW + DAY))
  const more = () => notices.create(notice('more', NOW, null))
  await assert.rejects(more, /At most 200/)
  await notices.delete((await notices.list())[0]?.id ?? '')
  const { id } = await more()
  await assert.rejects(more, /At most 200/)
  clock.advance(92 * DAY)
  assert.deepEqual(
    (await notices.list()).map(({ title }) => title),
    ['more'],
  )
  await assert.rejects(() => notices.change('ntc_none', notice('x', NOW, null)), /no notice/)
  await assert.rejects(() => notices.change(id, notice('x', NOW, NOW)), /end lies before/)
  await store.close()
})
