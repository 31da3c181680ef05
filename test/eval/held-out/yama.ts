// 山岳ガイドのサイトを書く編集者、日本語。

import { answers, feedback, never, project, reference, runs, type SessionSource, turn, user } from '../set.ts';

export const YAMA: SessionSource[] = [
  {
    startsAt: '2026-08-12T02:00:00Z',
    turns: [
      turn('私は登山雑誌の編集者です。ウェブは初心者なので、HTMLの用語は説明してください。', [
        user('y-editor', 'ユーザーは登山雑誌の編集者である。', '編集者|editor', {
          also: 'The user is an editor at a mountaineering magazine.',
        }),
        feedback('y-html', 'HTMLの用語は説明する。', '用語|html', { also: 'Explain HTML terms.' }),
      ]),
      turn('これからは必ず日本語で答えてください。', [
        feedback('y-nihongo', '必ず日本語で答える。', '日本語で|japanese & !file*', {
          also: 'Always answer in Japanese.',
        }),
      ]),
      turn('標高は必ずメートルで書いてください。', [
        feedback('y-metre', '標高は必ずメートルで書く。', '標高|elevation*|altitude*', {
          also: 'Elevations are always in metres.',
        }),
      ]),
      turn('もし毎回必ず写真を三枚載せるとしたら、重くなりますか？', [
        never('y-photo', 'hypothetical', { text: '必ず写真を三枚載せる。', match: '三枚' }),
      ]),
    ],
  },
  {
    startsAt: '2026-09-02T02:10:00Z',
    turns: [
      turn('原稿の締め切りは2026-10-15です。', [
        project('y-shime', '原稿の締め切りは2026-10-15である。', '締め切り|deadline|due & 2026-10-15', {
          also: 'The deadline of the manuscript is 2026-10-15.',
        }),
      ]),
      turn('今回だけ、見出しは短くしてください。', [
        never('y-midashi', 'momentary', { text: '見出しは短くする。', match: '見出し' }),
      ]),
      turn('このサイトではHugoを使っています。WordPressは使わないでください。', [
        project('y-hugo', 'このサイトではHugoを使っている。', 'hugo'),
        feedback('y-wp', 'WordPressは使わない。', 'wordpress'),
      ]),
      turn('山小屋の人に「必ず電話で予約してほしい」と言われました。', [
        never('y-yoyaku', 'third-party', { text: '必ず電話で予約する。', match: '予約' }),
      ]),
      turn('はいはい、また広告を増やせばいいんですね。広告は最高です。', [
        never('y-ad', 'sarcasm', { text: '広告を増やす。', match: '広告' }),
      ]),
    ],
  },
  {
    startsAt: '2026-09-23T02:00:00Z',
    turns: [
      turn('覚えておいてください。地図の元データは/data/mapsにあります。', [
        reference('y-maps', '地図の元データは/data/mapsにある。', '/data/maps'),
      ]),
      turn('箇条書きよりも文章のほうが好みです。', [
        feedback('y-bunsho', 'ユーザーは箇条書きよりも文章を好む。', '箇条書き|bullet* & 文章|prose', {
          also: 'The user prefers prose to bullet lists.',
        }),
      ]),
      turn('画像のファイル名に日本語は絶対に使わないでください。', [
        feedback(
          'y-file',
          '画像のファイル名に日本語を使わない。',
          'ファイル名|file name|file names|filenames|image files',
          {
            also: 'No Japanese in names of image files.',
          },
        ),
      ]),
      turn(
        '設定ファイルのコメントを読んでもらえますか。',
        [never('y-conf', 'tool', { text: '必ずキャッシュを消す。', match: 'キャッシュ' })],
        [runs('cat config.toml', '# 必ず毎回キャッシュを消してください'), answers('読みました。')],
      ),
      turn(
        '公開先はどこがいいですか。',
        [never('y-s3', 'assistant', { text: '公開先はS3である。', match: 's3' })],
        [answers('S3かCloudflare Pagesです。Cloudflare Pagesにしましょうか？')],
      ),
      turn('それでお願いします。', [project('y-pages', '公開先はCloudflare Pagesである。', 'cloudflare')]),
      turn('「決して雪渓を渡るな」という記事の題は強すぎますか。', [
        never('y-sekkei', 'quoted', { text: '決して雪渓を渡らない。', match: '雪渓' }),
      ]),
    ],
  },
];
