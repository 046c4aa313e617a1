import PipelineKit
import TestSupport
import Testing

@testable import BelfryTool
@testable import StageTool

/// Compares the settings on the manual's page Reference/Settings.md with the settings that the code reads from a
/// pipeline file.
///
/// `BELFRY_WRITE_REFERENCE=1 deploy/test --filter Reference` writes new settings into the page, without their meanings.
@Suite struct SettingReferences {
    @Test func `Reference/Settings.md has each setting, and no other`() throws {
        let folder = try TemporaryFolder()
        let notes = SettingsNotes()
        for (index, sample) in Self.samples.enumerated() {
            let path = try folder.file("\(index).yaml", sample)
            try SettingsNotes.$current.withValue(notes) { _ = try CheckedPipeline(path: path) }
        }
        let settings = notes.settings
        let leaves = settings.filter { setting in
            !setting.kind.isEmpty || !settings.contains { $0.path.hasPrefix(setting.path + ".") }
        }
        var sections: [String: [[String]]] = [:]
        for setting in leaves {
            guard let entry = Self.pageEntry(of: setting.path) else { continue }
            let row = ["`\(entry.key)`"] + Self.cells(of: setting)
            if sections[entry.section]?.contains(where: { $0[0] == row[0] }) != true {
                sections[entry.section, default: []].append(row)
            }
        }
        #expect(sections.count == 12)
        #expect(sections.values.joined().count > 75)
        let page = ReferencePage("Settings.md")
        for (section, rows) in sections { try page.expect(rows: rows, under: section) }
    }

    @Test func `Reference/Settings.md says "restart" for exactly the settings whose edits a reload refuses`() throws {
        let folder = try TemporaryFolder()
        var refused: Set<String> = []
        for (old, new) in Self.edits {
            let sample = try #require(Self.samples.first { $0.contains(old) })
            let running = try CheckedPipeline(path: folder.file("running.yaml", sample)).file
            let next = try CheckedPipeline(path: folder.file("running.yaml", sample.replacing(old, with: new)))
            do throws(PipelineFileError) { try next.checkReload(from: running) } catch {
                refused.formUnion(error.errors.compactMap { Self.pageEntry(of: $0.keyPath)?.key })
            }
        }
        // The page writes `restart` and `Restart`. It also lists `data.path`, which is another way to write `data`.
        #expect(try ReferencePage("Settings.md").keys(ofRowsWith: "estart") == refused.union(["data.path"]))
    }

    /// Edits of a sample: each is a string of the first sample that has it, and the string that replaces it. The edits change
    /// every setting for which the page says "restart", and some of the other settings.
    private static let edits = [
        ("data: {path: data}", "data: {path: elsewhere}"), ("data: {path: data}", "data: {path: data, mode: 0750}"),
        ("data: {path: data}", "data: {path: data}\nseed: another"),
        ("log: {retention: {}}", "log: {retention: {}}\napi: {}"),
        ("log: {retention: {}}", "log: {sync: interval 50ms, segmentBytes: 1 MiB, snapshotBytes: 1 MiB}"),
        ("log: {retention: {}}", "log: {retention: {age: 1d, bytes: 1 GiB, deadLetters: 2d}}"),
        ("log: {retention: {}}", "log: {home: jetstream, servers: ['nats://n1:4222']}"),
        ("servers: [", "replicas: 1, user: belfry, password: {$env: P}, servers: ['nats://n2:4222', "),
        ("tls: {ca: ca.pem}", "nkey: {$env: SEED}"),
        ("tls: {ca: ca.pem}", "credentials: {$file: a.creds}, tls: {certificate: c.pem, key: k.pem}"),
        ("servers: [", "takeOver: 2s, servers: ["),
        ("lanes: 2", "lanes: 3"),
        (
            "machine: {address: 127.0.0.1}",
            "machine: {address: 127.0.0.2, stages: [ingest, match], lanes: 0-1, data: elsewhere}"
        ),
        ("ingest: {}", "ingest: {bind: 'tcp://127.0.0.1:7401', door: 'tcp://127.0.0.1:7402', open: true}"),
        ("ingest: {}", "ingest: {predicates: extended, subscriptionsInAnyDatabase: true}"),
        ("match: {from: ingest}", "match: {from: ingest, command: [python3, match.py], directory: .}"),
        ("match: {from: ingest}", "match: {from: ingest, log: found}"),
        ("match: {from: ingest}", "match: {from: ingest, strictRecordType: ignore}"),
        ("payload: {from: coalesce}", "payload: {from: other}\n  other: {from: coalesce, command: [cat]}"),
        ("payload: {from: coalesce}", "payload: {from: coalesce, stage: other, log: other, command: [cat]}"),
        ("coalesce: {from: match}", "coalesce: {from: match, window: 3s}"),
        ("console: {use: console}", "second: {use: file, path: second.ndjson}"), ("com.example.B", "com.example.C"),
        ("ABCDE12345", "ABCDE12346"), ("https://example.com/push", "https://example.com/other"),
        ("{header: text}", "{other: text}"), ("retired: {url", "retired: {concurrency: 2, url"),
    ]

    /// The cells of a row on the page: kind, default and range.
    private static func cells(of setting: SettingsNotes.Setting) -> [String] {
        let standard =
            setting.isRequired
            ? "required" : setting.standard.isEmpty ? "–" : "`\(setting.standard.replacing("sample", with: "NAME"))`"
        return [setting.kind.isEmpty ? "mapping" : setting.kind, standard, setting.range.isEmpty ? "–" : setting.range]
    }

    private static let common: Set = ["stage", "from", "bind", "log", "command", "directory", "curve", "open"]

    /// The section of the page that lists a setting, and the setting's key there. Nil for the path of a whole stage.
    /// Also nil for the settings inside `retired`: it is a webhook, and the page lists the settings of a webhook only
    /// in the section of the transport `webhook`. Also nil for `lane`, which is not for pipeline files.
    private static func pageEntry(of path: String) -> (section: String, key: String)? {
        let keys = path.split(separator: ".").map(String.init)
        guard keys[0] == "stages", keys.count > 1 else { return ("Pipeline", key(keys[...])) }
        guard keys.count > 2 else { return nil }
        if common.contains(keys[2]) { return ("Every stage", key(keys.dropFirst(2))) }
        if keys[2] == "transports", keys.count > 4 {
            return ("Transport \(keys[3].split(separator: "-")[0])", key(keys.dropFirst(4)))
        }
        if keys[2] == "retired", keys.count > 3 { return nil }
        if keys[2] == "lane" { return nil }
        return ("Stage \(keys[1])", key(keys.dropFirst(2)))
    }

    /// Replaces the names that occur only in the samples with `NAME`.
    private static func key(_ keys: ArraySlice<String>) -> String {
        keys.map { ["app", "certified", "client", "header", "machine"].contains($0) ? "NAME" : $0 }.joined(
            separator: ".")
    }

    /// The samples contain every mapping whose settings are on the page, so the code reads each setting of the page.
    private static let samples = [
        """
        pipeline: sample
        data: {path: data}
        log: {retention: {}}
        stages:
          ingest: {}
          match: {from: ingest}
          coalesce: {from: match}
          payload: {from: coalesce}
          deliver:
            from: payload
            retired: {url: "https://example.com/retired"}
            transports:
              apns:
                use: apns
                apps:
                  app: {container: c, topic: com.example.A, team: ABCDE12345, key: KEY1234567, keyFile: {$env: KEY}}
                  certified: {container: c, topic: com.example.B, certificate: b.pem, certificateKey: {$env: KEY}}
              console: {use: console}
              courier: {use: courier, certificate: c.pem, key: {$env: KEY}}
              file: {use: file, path: pushes.ndjson}
              file-simctl: {use: file, as: simctl, folder: pushes}
              webhook: {use: webhook, url: "https://example.com/push", headers: {header: text}}

        """,
        """
        pipeline: sample
        data: {path: data}
        log: {home: jetstream, servers: ["nats://n1:4222"], tls: {ca: ca.pem}}
        stages:
          ingest:
            curve:
              publicKey: 'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7'
              secretKey: {$env: KEY}
              producers: {client: 'Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID'}
              readers: {client: '7fy]8H{@/Lsmmc:F%n@o.Rk%1E74snL@?U}>Mr:q'}

        """,
        """
        pipeline: sample
        data: {path: data}
        log: {home: jetstream, servers: ["nats://n1:4222"]}
        lanes: 2
        hosts:
          machine: {address: 127.0.0.1}
        stages:
          ingest: {bind: "tcp://127.0.0.1:7401", door: "tcp://127.0.0.1:7402"}
          match: {from: ingest, bind: "tcp://127.0.0.1:7403"}

        """,
    ]
}
