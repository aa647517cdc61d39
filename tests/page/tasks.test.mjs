// The demo's task, from the first click to its end: started on the page, watched live, looked back at, forked.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, visit } from './support/browser.mjs';
import { project } from './support/project.mjs';
import { serve } from './support/server.mjs';

const TASK = 'Leave punctuation out of slugs, and number those that are taken';
let made, server, browser;

before(async () => {
  made = project({ channel: false });
  server = await serve(made.root);
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  made?.remove();
});

test('a task is started, watched, looked back at and forked', async (t) => {
  const { page, close } = await visit(browser, server.address, '#/instances');

  await t.test('an empty project teaches the first commands', async () => {
    await page.waitForSelector('text=No instances yet');
    assert.match(await page.textContent('.commands'), /rawko demo.*rawko task.*rawko run/s);
  });

  let sent;
  await t.test('an image is dropped on the task', async () => {
    await page.click('.view-head >> text=Start');
    const dropped = await page.evaluate(() => {
      const data = new DataTransfer();
      const bytes = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
      data.items.add(new File([bytes], 'shot.png', { type: 'image/png' }));
      const drop = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
      // An event that is not cancelled would open the image in place of the page.
      const isTaken = !document.querySelector('dialog textarea').dispatchEvent(drop);
      return { isTaken, files: [...document.querySelector('dialog input[type=file]').files].map((file) => file.name) };
    });
    assert.deepEqual(dropped, { isTaken: true, files: ['shot.png'] });
    // The demo's models take no images: the request is looked at, and continues without.
    await page.route('**/v1/tasks', (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      const { attachments, ...body } = route.request().postDataJSON();
      sent = attachments;
      return route.continue({ postData: JSON.stringify(body) });
    });
  });

  await t.test('a task is started and shown', async () => {
    await page.fill('dialog textarea', TASK);
    // Every state that is lit is written down, so that a fast machine cannot hide one.
    await page.evaluate(() => {
      window.lit = new Set();
      const look = () => {
        const shadow = document.querySelector('.drawing-content')?.shadowRoot;
        for (const state of shadow?.querySelectorAll('.state.active') ?? []) window.lit.add(state.dataset.node);
        requestAnimationFrame(look);
      };
      look();
    });
    await page.click('dialog button[type=submit]');
    // A task opens as one; its steps are a click away.
    await page.waitForSelector('.task-title');
    assert.deepEqual(sent, [{ data: 'data:image/png;base64,iVBORw0KGgo=' }]);
    await page.unroute('**/v1/tasks');
    await page.click('.head-acts >> text=Steps');
    await page.waitForSelector('.instance-title .pill:has-text("succeeded")', { timeout: 120_000 });
    const lit = await page.evaluate(() => [...window.lit]);
    assert.ok(lit.includes('complete'), `lit: ${lit}`);
    assert.ok(lit.length > 1, `only the end was seen: ${lit}`);
  });

  await t.test('its result, plan and agents are there', async () => {
    await page.waitForSelector('.present .plan-steps li.ticked >> nth=3');
    assert.equal(await page.locator('.present .plan-steps li').count(), 4);
    assert.match(await page.textContent('.good-card'), /Slugs hold letters and digits only/);
    assert.ok((await page.locator('.children .child-link').count()) >= 6, 'every agent at work is a child');
  });

  await t.test('the transcript has words, calls and decisions', async () => {
    await page.click('role=tab[name=Transcript]');
    // The transcript is filled while it is read; a slow machine shows the last agent later.
    for (const said of ['planner', 'developer', 'tester', 'reviewer', 'slugs.py']) {
      await page.waitForFunction((word) => document.querySelector('.transcript')?.textContent.includes(word), said);
    }
    assert.ok((await page.locator('.turn.kind-calls').count()) > 3, 'tool calls');
    assert.ok((await page.locator('.turn.kind-decision').count()) > 3, 'decisions');
  });

  await t.test('the timeline is dragged, and drawing, context and story follow', async () => {
    await page.click('role=tab[name=Step]');
    const box = await page.locator('.timeline-slider').boundingBox();
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width - 10, y);
    await page.mouse.down();
    for (let part = 1; part > 0.3; part -= 0.05) await page.mouse.move(box.x + 8 + (box.width - 16) * part, y);
    await page.mouse.move(box.x + 8 + (box.width - 16) * 0.26, y);
    await page.mouse.up();
    const step = Number(await page.getAttribute('.timeline-slider', 'aria-valuenow'));
    const last = Number(await page.getAttribute('.timeline-slider', 'aria-valuemax'));
    assert.ok(step > 0 && step < last, `step ${step} of ${last}`);
    const wanted = await server.get(`instances/${await id(page)}?at=${step}`);
    await page.waitForFunction((name) => {
      const lit = document.querySelector('.drawing-content').shadowRoot.querySelector(`[data-node="${name}"]`);
      return lit?.classList.contains('active');
    }, wanted.configuration[0]);
    await page.waitForSelector('.story-lines li');
    await page.waitForFunction((at) => location.hash.includes(`step=${at}`), step);
    await page.click('role=tab[name=Context]');
    await page.waitForSelector(`text=Context after step ${step}.`);
  });

  await t.test('a link to a step shows that step', async () => {
    const link = page
      .url()
      .replace(/step=\d+/, 'step=2')
      .replace('tab=context', 'tab=step');
    const other = await visit(browser, server.address, link.slice(link.indexOf('#')));
    await other.page.waitForSelector('.step-chip:has-text("2")');
    assert.equal(await other.page.getAttribute('.timeline-slider', 'aria-valuenow'), '2');
    await other.close();
  });

  await t.test('a step is forked with another value', async () => {
    const first = await id(page);
    await page.keyboard.press('f');
    await page.fill('dialog input', 'another-way');
    await page.selectOption('dialog select', 'maxIterations');
    await page.fill('dialog .edit textarea', 'context.maxIterations + 1');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('h1:has-text("another-way")');
    await page.waitForSelector(`.lineage:has-text("forked from ${first}")`);
    assert.equal((await server.get('instances/another-way')).context.maxIterations, 51);
  });

  await t.test('both are in the list, and among the tasks', async () => {
    await page.click('nav >> text=Instances');
    await page.waitForSelector('.virtual-row:has-text("another-way")');
    await page.click('nav >> text=Tasks');
    await page.waitForSelector(`.virtual-row:has-text("${TASK}")`);
  });

  await close();
});

const id = (page) => page.textContent('h1');
