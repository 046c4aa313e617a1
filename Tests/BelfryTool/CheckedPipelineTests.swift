import Foundation
import LocalAPNs
import PipelineKit
import Testing
import Time
import TransportAPNs

@testable import BelfryTool
@testable import Inspect

struct CheckedPipelineTests {
    @Test func `the mistakes of the file and of its stages are reported together, in order`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file(
            "bad.yaml",
            """
            pipeline: bad
            stages:
              ingest: { bindd: x }
              match: { from: ingestt }
              coalesce: { from: match, window: fast }
              payload: { from: coalesce }
              mangle: { from: payload }
              deliver: { from: payload, transports: { apns: { use: filee }, web: { use: webhook, url: 7 } } }

            """)
        let error = try #require(throws: PipelineFileError.self) { _ = try CheckedPipeline(path: path) }
        let keys = error.errors.map(\.keyPath)
        #expect(keys.contains("stages.ingest.bindd"))
        #expect(keys.contains("stages.match.from"))
        #expect(keys.contains("stages.coalesce.window"))
        #expect(keys.contains("stages.mangle.stage"))
        #expect(keys.contains("stages.deliver.transports.apns.use"))
        #expect(keys.contains("stages.deliver.transports.web.url"))
        #expect(error.errors.map(\.line) == error.errors.map(\.line).sorted())
        #expect(Set(keys).count == keys.count)
    }

    @Test func `a mistyped key or stage name is reported once, with the nearest known word`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file(
            "bad.yaml",
            """
            pipeline: bad
            stages:
              payload: { form: coalesce }
              ingest: {}
              match: { from: ingest, use: match }
              coalesce: { from: match }
              mach: { from: ingest }
              mangle: { from: payload, use: match }
              deliver: { from: payload, transports: { a: { us: file }, b: { use: fil } } }

            """)
        let error = try #require(throws: PipelineFileError.self) { _ = try CheckedPipeline(path: path) }
        let found = Dictionary(error.errors.map { ($0.keyPath, $0) }) { first, _ in first }
        #expect(error.errors.count == found.count)
        #expect(found["stages.payload.form"]?.description.hasSuffix(#"unknown key; did you mean "from"?"#) == true)
        #expect(found["stages.payload.form"].map { [$0.line, $0.column] } == [3, 14])
        #expect(found["stages.payload.from"] == nil && found["stages.ingest.from"] == nil)
        #expect(found["stages.mach.stage"]?.hint?.hasPrefix(#"did you mean "match"? known: "#) == true)
        #expect(found["stages.mangle.use"]?.hint?.hasPrefix(#"did you mean "stage"?"#) == true)
        #expect(found["stages.deliver.transports.a.us"]?.hint == #"did you mean "use"?"#)
    }

    @Test(arguments: [
        ("payload: { from: coalesce", "match", "match writes matches, but payload reads notifications"),
        ("deliver: { from: payload", "coalesce", "coalesce writes notifications, but deliver reads pushes"),
        ("coalesce: { from: match", "ingest", "ingest writes changes, but coalesce reads matches"),
    ])
    func `a stage that cannot use the events of its upstream is refused`(
        link: String, upstream: String, reason: String
    ) throws {
        let folder = try TemporaryFolder()
        let words = link.split(separator: " ").map(String.init)
        let wrong = (words.dropLast() + [upstream]).joined(separator: " ")
        let path = try folder.file("bad.yaml", fiveStages.replacing(link, with: wrong))
        let error = try #require(throws: PipelineFileError.self) { _ = try CheckedPipeline(path: path) }
        #expect(error.errors.count == 1 && error.first.line > 0 && error.first.column > 0, "\(error)")
        #expect(error.first.keyPath == "stages.\(words[0].dropLast()).from")
        #expect(error.first.reason == reason)
        #expect(error.first.hint == "put `from: \(words[3])`")
    }

    @Test func `the hint about a wrong link names a stage of the file, or a kind of stage to add`() throws {
        let folder = try TemporaryFolder()
        let text = fiveStages.replacing("match: {", with: "watchers: { stage: match,")
        let hints = try [
            text.replacing("from: match", with: "from: ingest"),
            fiveStages.replacing("match: { from: ingest }", with: "other: { from: ingest, command: [cat] }")
                .replacing("from: match", with: "from: ingest"),
        ].map { text in
            let path = try folder.file("bad.yaml", text)
            return try #require(throws: PipelineFileError.self) { _ = try CheckedPipeline(path: path) }.first.hint
        }
        #expect(hints == ["put `from: watchers`", "add a stage of kind match before coalesce"])
    }

    @Test func `a stage may read from a plugin, whichever log the plugin reads`() throws {
        let folder = try TemporaryFolder()
        let text = fiveStages.replacing(
            "payload: { from: coalesce }", with: "other: { from: match, command: [cat] }\n  payload: { from: other }")
        _ = try CheckedPipeline(path: folder.file("plugin.yaml", text))
    }

    @Test func `an error about an unknown transport suggests the known transport with the nearest name`() throws {
        let folder = try TemporaryFolder()
        let text = fiveStages.replacing("use: console", with: "use: consol")
        #expect(text != fiveStages)
        let path = try folder.file("bad.yaml", text)
        let error = try #require(throws: PipelineFileError.self) { _ = try CheckedPipeline(path: path) }
        #expect(error.errors.first?.hint?.hasPrefix(#"did you mean "console"? known: "#) == true)
    }

    @Test(arguments: [
        (
            "use: file, as: simctrl, folder: x",
            "as: expected one of ndjson, simctl, found simctrl; did you mean \"simctl\"?"
        ),
        ("use: file, as: xml, path: x", "as: expected one of ndjson, simctl, found xml"),
        (
            "use: webhook, privateNetworks: alow, url: \"http://localhost/\"",
            "privateNetworks: expected one of refuse, allow, found alow; did you mean \"allow\"?"
        ),
    ])
    func `a mistake in a key that other keys depend on is reported once`(transport: String, message: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("bad.yaml", fiveStages.replacing("use: console", with: transport))
        let error = try #require(throws: PipelineFileError.self) { _ = try CheckedPipeline(path: path) }
        #expect(error.errors.count == 1, "\(error)")
        #expect(error.description.hasSuffix(message), "\(error)")
    }

    @Test func `secret files are checked, but environment variables and credentials are not`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file(
            "p.yaml",
            fiveStages.replacing(
                "apns: { use: console }",
                with: """
                    one: { use: webhook, url: "https://example.com/", secret: [{$file: none}, {$file: open}] }, \
                    two: { use: webhook, url: "https://example.com/", secret: {$file: mine} }, \
                    three: { use: webhook, url: "https://example.com/", secret: {$env: BELFRY_NO_SUCH} }, \
                    four: { use: webhook, url: "https://example.com/", secret: {$credential: none} }
                    """))
        for (name, mode) in [("open", 0o644), ("mine", 0o600)] {
            let file = try folder.file(name, "whsec_x")
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        }
        let found = try CheckedPipeline(path: path).file.secretFileErrors()
        #expect(
            found.map(\.keyPath) == ["stages.deliver.transports.one.secret", "stages.deliver.transports.one.secret"])
        #expect(
            found.map(\.reason) == [
                "cannot open \(folder.path)/none: No such file or directory",
                "\(folder.path)/open can be read by users other than its owner",
            ])
        #expect(found.last?.hint == "chmod 600 \(folder.path)/open")
        #expect(found.allSatisfy { $0.line > 0 && $0.column > 0 })
    }

    @Test func `the secret files of the gateway are checked`() throws {
        let folder = try TemporaryFolder()
        let api = "api: { certificate: cert.pem, key: {$file: none} }\n"
        let path = try folder.file("p.yaml", fiveStages + api)
        let found = try CheckedPipeline(path: path).file.secretFileErrors()
        #expect(found.map(\.keyPath) == ["api.key"])
        #expect(found.map(\.reason) == ["cannot open \(folder.path)/none: No such file or directory"])
    }

    @Test func `the secret files and the certificates of the logs' home are checked`() throws {
        let folder = try TemporaryFolder()
        func found(_ settings: String) throws -> [String] {
            let log = "log: {home: jetstream, servers: ['nats://n1'], \(settings)}\n"
            let path = try folder.file("p.yaml", fiveStages + log)
            return try CheckedPipeline(path: path).secretWarnings().map {
                "\($0)".replacing(folder.path + "/", with: "")
            }
        }
        #expect(
            try found("credentials: {$file: none.creds}") == [
                "p.yaml:8:61: log.credentials: cannot open none.creds: No such file or directory"
            ])
        #expect(
            try found("tls: {ca: p.yaml, certificate: c.pem, key: k.pem}") == [
                "p.yaml:8:79: log.tls.certificate: cannot open c.pem: No such file or directory",
                "p.yaml:8:91: log.tls.key: cannot open k.pem: No such file or directory",
            ])
    }

    @Test func `a valid pipeline file is read with its stages`() throws {
        let folder = try TemporaryFolder()
        let checked = try CheckedPipeline(path: try folder.file("notes.yaml", fiveStages))
        try checked.checkKeys()
        #expect(try checked.stage(ofKind: "match").name == "match")
        #expect(try checked.stage("deliver").kind == "deliver")
    }

    @Test func `an error about an unknown stage lists the stages`() throws {
        let folder = try TemporaryFolder()
        let checked = try CheckedPipeline(path: try folder.file("notes.yaml", fiveStages))
        let failure = #expect(throws: ToolFailure.self) { try checked.stage("matches") }
        #expect(failure?.status == .usage)
        #expect(failure?.message.hasSuffix("its stages: ingest, match, coalesce, payload, deliver") == true)
    }

    @Test func `of several stages of a kind, one must be chosen`() throws {
        let folder = try TemporaryFolder()
        let two =
            fiveStages
            + "  second: { stage: deliver, from: payload, log: two, transports: { apns: { use: console } } }\n"
        let checked = try CheckedPipeline(path: try folder.file("two.yaml", two))
        let failure = #expect(throws: ToolFailure.self) { try checked.stage(ofKind: "deliver") }
        #expect(failure?.message.contains("--stage (deliver, second)") == true)
    }

    @Test func `a missing pipeline file is an error, and so is a folder in its place`() throws {
        let folder = try TemporaryFolder()
        for path in [folder.path + "/no.yaml", folder.path] {
            let failure = try #require(throws: ToolFailure.self) { _ = try CheckedPipeline(path: path) }
            #expect(failure.status == .noInput)
            #expect(failure.message.contains(path))
        }
    }

    @Test func `validate prints each mistake as JSON for programs`() {
        let error = SettingsError(
            file: "a.yaml", line: 3, column: 5, keyPath: "stages.x", reason: "say \"hi\"", hint: "did you mean y?")
        #expect(
            ValidateCommand.report([error]) == """
                {"valid":false,"errors":[{"file":"a.yaml","line":3,"column":5,"key":"stages.x",\
                "reason":"say \\"hi\\"","hint":"did you mean y?"}],"warnings":[]}
                """)
    }

    @Test func `a certificate that expires soon gives a warning, and the warning of apns names the app`() throws {
        let folder = try TemporaryFolder()
        var server = LocalAPNs.Configuration()
        server.folder = folder.path
        // The certificate is valid for 396 days.
        let made = Date().addingTimeInterval(-386.5 * 86_400)
        _ = try Credentials(server, now: made)
        let path = try folder.file(
            "soon.yaml",
            """
            pipeline: soon
            stages:
              ingest: {}
              match: { from: ingest }
              coalesce: { from: match }
              payload: { from: coalesce }
              deliver:
                from: payload
                transports:
                  apns:
                    use: apns
                    apps:
                      notes: { container: iCloud.Notes, topic: Notes, certificate: client.pem, certificateKey: { $file: client-key.pem } }
                  courier: { use: courier, certificate: client.pem, key: { $file: client-key.pem } }

            """)
        let now = Instant(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000)
        let warnings = try CheckedPipeline(path: path).certificateWarnings(at: now)
        #expect(
            warnings.map(\.keyPath) == [
                "stages.deliver.transports.apns.apps", "stages.deliver.transports.courier.certificate",
            ])
        #expect(warnings.last?.reason.hasPrefix("the certificate \(folder.path)/client.pem expires on ") == true)
        let warning = try #require(warnings.first)
        #expect(warning.reason.hasPrefix("notes: the certificate \(folder.path)/client.pem expires on "))
        #expect(warning.reason.hasSuffix(", in 9 days") && warning.hint == APNsSettings.certificateRemedy)
        let earlier = now.advanced(by: .seconds(-30 * 86_400))
        #expect(try CheckedPipeline(path: path).certificateWarnings(at: earlier) == [])
    }
}
