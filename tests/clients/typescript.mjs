// Drives a server with the official TypeScript client, and prints what it saw as one line of JSON.
//
//   node typescript.mjs FOLDER ERA http URL
//   node typescript.mjs FOLDER ERA stdio COMMAND [ARGUMENT...]
//
// FOLDER is where the client is installed. A step that fails is told in the place of its result.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, era, door, ...target] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const load = name => import(pathToFileURL(require.resolve(name)).href);
const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');

const transport = door === 'http'
  ? new StreamableHTTPClientTransport(new URL(target[0]))
  : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env, stderr: 'inherit' });
const mode = era === 'modern' ? { pin: '2026-07-28' } : era;
const client = new Client({ name: 'typescript', version: '1' }, { capabilities: {}, versionNegotiation: { mode } });

const seen = {};
const step = async (name, action) => {
  try {
    seen[name] = await action();
  } catch (error) {
    seen[name] = { failed: error.message, code: error.code ?? null };
  }
};
const text = result => result.content[0].text;
const add = async (a, b) => text(await client.callTool({ name: 'add', arguments: { a, b } }));

setTimeout(() => { console.error('the client took too long'); process.exit(1); }, 40000).unref();
await client.connect(transport);
seen.revision = client.getNegotiatedProtocolVersion();
seen.server = client.getServerVersion()?.name;
seen.capabilities = Object.keys(client.getServerCapabilities() ?? {}).sort();

await step('tools', async () => (await client.listTools()).tools.map(tool => tool.name));
await step('call', async () => {
  const result = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
  return [text(result), result.structuredContent, result.isError ?? false];
});
await step('tool error', async () => {
  const result = await client.callTool({ name: 'write_note', arguments: { name: 'x', text: '' } });
  return [text(result), result.isError];
});
await step('wrong arguments', async () => {
  const result = await client.callTool({ name: 'add', arguments: { a: 'one', b: 2 } });
  return [text(result), result.isError];
});
await step('unknown tool', () => client.callTool({ name: 'nobody', arguments: {} }));
await step('resources', async () => (await client.listResources()).resources.map(each => each.uri));
await step('read', async () => (await client.readResource({ uri: 'notes://welcome' })).contents);
await step('unknown resource', () => client.readResource({ uri: 'notes://missing' }));
await step('templates', async () =>
  (await client.listResourceTemplates()).resourceTemplates.map(each => each.uriTemplate));
await step('prompts', async () => (await client.listPrompts()).prompts.map(prompt => prompt.name));
await step('prompt', async () => {
  const found = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada', style: 'formal' } });
  return found.messages;
});
await step('completion', async () => {
  const style = { type: 'ref/prompt', name: 'greet' };
  const note = { type: 'ref/resource', uri: 'notes://{name}' };
  const found = [
    await client.complete({ ref: style, argument: { name: 'style', value: 'f' } }),
    await client.complete({ ref: note, argument: { name: 'name', value: 'w' } }),
  ];
  return found.map(each => each.completion.values);
});
await step('progress', async () => {
  const heard = [];
  const onprogress = progress => heard.push(progress.progress);
  const slow = { name: 'slow', arguments: { seconds: 0.1 } };
  return [text(await client.callTool(slow, { onprogress })), heard];
});
await step('cancelled', async () => {
  const leaving = new AbortController();
  const slow = { name: 'slow', arguments: { seconds: 30 } };
  const call = client.callTool(slow, { signal: leaving.signal, onprogress: () => leaving.abort('enough') });
  return call.then(() => 'answered', () => 'given up');
});
await step('side by side', () => Promise.all(Array.from({ length: 20 }, (_, number) => add(number, 1))));
await step('news', async () => {
  const news = new Promise(resolve => client.setNotificationHandler(
    'notifications/resources/updated', notification => resolve(notification.params.uri)));
  let subscription;
  if (seen.revision === '2026-07-28') {
    subscription = await client.listen({ resourceSubscriptions: ['notes://todo'] });
  } else {
    await client.subscribeResource({ uri: 'notes://todo' });
    // Over HTTP news come by a stream that the client opens on its own, which we cannot wait for.
    if (door === 'http') await new Promise(resolve => setTimeout(resolve, 300));
  }
  await client.callTool({ name: 'write_note', arguments: { name: 'todo', text: 'Rest.' } });
  const heard = await news;
  await subscription?.close();
  return heard;
});
await step('afterwards', () => add(20, 22));
await client.close();
console.log(JSON.stringify(seen));
process.exit(0);
