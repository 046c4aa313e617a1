import Foundation
import Testing

@testable import PipelineKit

@Suite struct SettingsReaderTests {
    private func reader(_ value: String) throws -> SettingsReader {
        try SettingsReader(text: "key: \(value)\n", file: "s.yaml")
    }

    /// The reason and the hint of the error that `read` throws.
    private func complaint<Value>(
        _ value: String, _ read: (inout SettingsReader) throws(SettingsError) -> Value
    ) throws -> String? {
        var reader = try reader(value)
        let error = #expect(throws: SettingsError.self) { _ = try read(&reader) }
        #expect(error?.keyPath == "key")
        #expect(error?.line == 1)
        #expect(error?.column == 6)
        return error.map { $0.reason + ($0.hint.map { "; \($0)" } ?? "") }
    }

    @Test(
        arguments: zip(
            ["50us", "50ms", "2s", "'2s'", "2 s", "1m", "1h", "2d", "0s", "007s"],
            [
                Duration.microseconds(50), .milliseconds(50), .seconds(2), .seconds(2), .seconds(2), .seconds(60),
                .seconds(3600), .seconds(172_800), .zero, .seconds(7),
            ]))
    func `a duration is a number with a unit`(_ text: String, _ duration: Duration) throws {
        var reader = try reader(text)
        #expect(try reader.duration("key", default: .seconds(9), in: .zero ... .seconds(1_000_000)) == duration)
    }

    @Test(
        arguments: zip(
            [
                "2", "0", "''", "-1s", "1.5s", "2 weeks", "s", "1m30s", "٢s", "[2s]", "99999999999999999999s", "1d",
                "0s", "~",
            ],
            [
                "2 has no unit; write 2ms or 2s", "0 has no unit; write 0ms or 0s",
                "expected a duration, found an empty string\(like)", "expected a duration, found -1s\(like)",
                "expected a duration, found 1.5s\(like)", "expected a duration, found 2 weeks\(like)",
                "expected a duration, found s\(like)", "expected a duration, found 1m30s\(like)",
                "expected a duration, found ٢s\(like)", "expected a duration, found a list",
                "99999999999999999999s is too large for a duration", "must be between 5ms and 1h, is 1d",
                "must be between 5ms and 1h, is 0s", "expected a duration, found nothing",
            ]))
    func `a text that is not a duration, or is out of range, is refused`(_ text: String, _ expected: String) throws {
        let found = try complaint(text) { reader throws(SettingsError) in
            try reader.duration("key", default: .zero, in: .milliseconds(5) ... .seconds(3600))
        }
        #expect(found == expected)
    }

    static let like = "; write one like 50ms, 2s, 1m, 1h"

    @Test(
        arguments: zip(
            ["4096", "64 KiB", "64KiB", "1 MB", "1 kB", "1 KB", "3 B", "2 GiB", "0"],
            [4096, 65_536, 65_536, 1_000_000, 1000, 1000, 3, 2 << 30, 0]))
    func `a size is a number with or without a unit`(_ text: String, _ bytes: Int) throws {
        var reader = try reader(text)
        #expect(try reader.bytes("key", default: 9, in: 0...Int.max) == bytes)
    }

    @Test(
        arguments: zip(
            ["64 kib", "1e6", "9 EB", "9223372036854775808", "9999999999 GiB", "5 KiB"],
            [
                "expected a size, found 64 kib; write one like 4096, 64 KiB, 1 MB",
                "expected a size, found 1e6; write one like 4096, 64 KiB, 1 MB",
                "expected a size, found 9 EB; write one like 4096, 64 KiB, 1 MB",
                "9223372036854775808 is too large for a size", "9999999999 GiB is too large for a size",
                "must be between 1 and 4 KiB, is 5 KiB",
            ]))
    func `a text that is not a size, or is out of range, is refused`(_ text: String, _ expected: String) throws {
        let found = try complaint(text) { reader throws(SettingsError) in
            try reader.bytes("key", default: 1, in: 1...4096)
        }
        #expect(found == expected)
    }

    @Test func `text is read as it is written`() throws {
        for (yaml, text) in [
            ("yes", "yes"), ("007", "007"), ("'~'", "~"), ("tcp://*:1", "tcp://*:1"), ("|-\n  a\n  *b", "a\n*b"),
        ] {
            var reader = try reader(yaml)
            #expect(try reader.string("key") == text)
        }
        let found = try complaint("{a: b}") { reader throws(SettingsError) in try reader.string("key") }
        #expect(found == "expected a string, found a mapping")
    }

    @Test func `numbers and booleans are unquoted words`() throws {
        var number = try reader("-12")
        #expect(try number.integer("key", default: 1, in: -20...20) == -12)
        var truth = try reader("true")
        #expect(try truth.boolean("key", default: false))
        for text in ["'5'", "five", "5.0", "0x5"] {
            let found = try complaint(text) { reader throws(SettingsError) in
                try reader.integer("key", default: 1, in: 0...9)
            }
            #expect(found?.hasPrefix("expected a whole number, found ") == true)
        }
        for text in ["yes", "'true'", "1"] {
            let found = try complaint(text) { reader throws(SettingsError) in try reader.boolean("key", default: true) }
            #expect(found?.hasPrefix("expected true or false, found ") == true)
        }
    }

    @Test func `the error for a wrong choice lists the allowed words and suggests the nearest`() throws {
        enum Mode: String, CaseIterable { case strict, loose }
        var reader = try reader("loose")
        #expect(try reader.choice("key", default: Mode.strict) == .loose)
        let found = try complaint("lose") { reader throws(SettingsError) in
            try reader.choice("key", default: Mode.strict)
        }
        #expect(found == #"expected one of strict, loose, found lose; did you mean "loose"?"#)
    }

    @Test(
        arguments: zip(
            ["x", "./x", "../x", "../../x", "/x/../y", "~/x", "."],
            ["a/b/x", "a/b/x", "a/x", "x", "/y", "a/b/~/x", "a/b"]))
    func `a relative path begins in the file's folder`(_ text: String, _ path: String) throws {
        var reader = try SettingsReader(text: "key: \(text)\n", file: "a/b/s.yaml")
        #expect(try reader.path("key") == path)
    }

    @Test func `a missing key takes its default`() throws {
        var reader = try reader("x")
        #expect(try reader.string("a", default: "d") == "d")
        #expect(try reader.optionalString("b") == nil)
        #expect(try reader.strings("c", default: ["d"]) == ["d"])
        #expect(try reader.path("d", default: "/p") == "/p")
        #expect(try reader.mapping("e") == nil)
        #expect(try reader.mappings("f").isEmpty)
        #expect(try reader.optionalSecret("g") == nil)
    }

    // MARK: Nesting

    struct Retry: PluginSettings {
        let attempts: Int

        init(from settings: inout SettingsReader) throws(SettingsError) {
            attempts = try settings.integer("attempts", default: 3, in: 1...9)
        }
    }

    struct Delivery: PluginSettings {
        let url: String
        let transports: [String: Int]

        init(from settings: inout SettingsReader) throws(SettingsError) {
            url = try settings.string("url")
            let window = try settings.duration("window", default: .seconds(1), in: .zero ... .seconds(9))
            let hold = try settings.duration("hold", default: .seconds(2), in: .zero ... .seconds(9))
            let named = try settings.mappings("transports", as: Retry.self)
            transports = Dictionary(uniqueKeysWithValues: named.map { ($0.name, $0.settings.attempts) })
            if hold < window { throw settings.fail("hold", "is shorter than window", hint: "2s is usual") }
        }
    }

    @Test func `a mapping from names to settings is decoded with its names`() throws {
        let text = "url: u\ntransports: {b: {attempts: 2}, a: }\n"
        let delivery = try SettingsReader(text: text, file: "s.yaml").decode(Delivery.self)
        #expect(delivery.transports == ["a": 3, "b": 2])
    }

    @Test func `decoding reports every mistake at once`() throws {
        let text = """
            window: 2
            hold: 500ms
            transports:
              apns: {attempts: 10, atempts: 1}
              file: {colour: red}
            urls: x
            """
        let reader = try SettingsReader(text: text, file: "s.yaml")
        let error = #expect(throws: PipelineFileError.self) { try reader.decode(Delivery.self) }
        #expect(
            error?.description == """
                s.yaml:1:9: window: 2 has no unit; write 2ms or 2s
                s.yaml:2:7: hold: is shorter than window; 2s is usual
                s.yaml:4:20: transports.apns.attempts: must be between 1 and 9, is 10
                s.yaml:4:24: transports.apns.atempts: unknown key; did you mean "attempts"? known: attempts
                s.yaml:5:10: transports.file.colour: unknown key; known: attempts
                s.yaml:6:1: urls: unknown key; did you mean "url"? known: url, window, hold, transports
                """)
    }

    // MARK: Secrets

    @Test func `a secret is read only when it is needed, loses its last line feed, and is never printed`() throws {
        try withFolder { folder in
            let file = "\(folder)/token"
            var reader = try SettingsReader(text: "key: {$file: token}\n", file: "\(folder)/s.yaml")
            let secret = try reader.secret("key")
            try Data("s3cret\n\n".utf8).write(to: URL(filePath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            #expect(try secret.reveal() == "s3cret\n")
            #expect("\(secret)" == "secret in \(file)")
        }
    }

    @Test(arguments: [0o640, 0o604, 0o444])
    func `a secret that others may read is refused`(_ mode: Int) throws {
        try withFolder { folder in
            let file = "\(folder)/token"
            try Data("s3cret".utf8).write(to: URL(filePath: file))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            var reader = try SettingsReader(text: "key: {$file: token}\n", file: "\(folder)/s.yaml")
            let secret = try reader.secret("key")
            let error = #expect(throws: SettingsError.self) { try secret.reveal() }
            #expect(
                error?.description == "\(folder)/s.yaml:1:6: key: \(file) can be read by users other than its owner; "
                    + "chmod 600 \(file)")
        }
    }

    @Test func `a secret whose environment variable is unset or empty is refused`() throws {
        var reader = try reader("{$env: TOKEN}")
        let secret = try reader.secret("key")
        #expect(try secret.reveal(environment: ["TOKEN": "t"]) == "t")
        let unset = #expect(throws: SettingsError.self) { try secret.reveal(environment: [:]) }
        #expect(unset?.description == "s.yaml:1:6: key: the environment variable TOKEN is not set")
        let empty = #expect(throws: SettingsError.self) { try secret.reveal(environment: ["TOKEN": ""]) }
        #expect(empty?.reason == "the environment variable TOKEN is empty")
    }

    @Test(arguments: [
        ("s3cret", "a string"), ("{s3cret: x}", "a mapping with an unknown key"),
        ("{$file: x, $env: y}", "a mapping with 2 keys"), ("[x]", "a list"),
    ])
    func `the error for a value that is no source of a secret hides the value`(_ text: String, _ kind: String) throws {
        let found = try complaint(text) { reader throws(SettingsError) in try reader.secret("key") }
        #expect(
            found == "expected the source of a secret, found \(kind); "
                + "write {$file: PATH}, {$env: NAME} or {$credential: NAME}")
    }

    @Test(arguments: [("$fiel", "$file"), ("file", "$file"), ("$envv", "$env"), ("credential", "$credential")])
    func `the error for a mistyped kind of secret suggests the nearest kind`(_ key: String, _ meant: String) throws {
        let found = try complaint("{\(key): x}") { reader throws(SettingsError) in try reader.secret("key") }
        let reason = "unknown key \"\(key)\" in a secret; did you mean \"\(meant)\"? write {$file: PATH}"
        #expect(found?.hasPrefix(reason) == true)
    }

    private func credential(_ name: String = "apns-key") throws -> Secret {
        var reader = try reader("{$credential: \(name)}")
        return try reader.secret("key")
    }

    @Test func `a credential is read from the file of its name in systemd's folder`() throws {
        try withFolder { folder in
            let file = "\(folder)/apns-key"
            try Data("s3cret\n".utf8).write(to: URL(filePath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file)
            let secret = try credential()
            #expect(try secret.reveal(environment: ["CREDENTIALS_DIRECTORY": folder]) == "s3cret")
            #expect("\(secret)" == "secret in the credential apns-key")
        }
    }

    @Test func `the error for a missing credential says what to write in the unit file`() throws {
        let hint = "write LoadCredential=apns-key:/PATH under [Service] in the unit file"
        let unset = #expect(throws: SettingsError.self) { try credential().reveal(environment: [:]) }
        #expect(
            unset?.description
                == "s.yaml:1:6: key: there is no credential apns-key: CREDENTIALS_DIRECTORY is not set; \(hint)")
        try withFolder { folder in
            let missing = #expect(throws: SettingsError.self) {
                try credential().reveal(environment: ["CREDENTIALS_DIRECTORY": folder])
            }
            #expect(missing?.reason == "cannot open \(folder)/apns-key: No such file or directory")
            #expect(missing?.hint == hint)
        }
    }

    @Test func `a credential that other users may read is refused, but its group may read it if root owns it`() throws {
        try withFolder { folder in
            let file = "\(folder)/apns-key"
            try Data("s3cret".utf8).write(to: URL(filePath: file))
            try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: file)
            let open = #expect(throws: SettingsError.self) {
                try credential().reveal(environment: ["CREDENTIALS_DIRECTORY": folder])
            }
            #expect(open?.reason == "\(file) can be read by users other than its owner")
        }
        let service = ConfigurationFile.Readers.service
        #expect(!service.isTooOpen(0o440, owner: 0, reader: 1_000) && service.isTooOpen(0o444, owner: 0, reader: 1_000))
        #expect(service.isTooOpen(0o440, owner: 1_000, reader: 1_000) && service.isTooOpen(0o440, owner: 0, reader: 0))
        #expect(!service.isTooOpen(0o400, owner: 1_000, reader: 1_000))
    }

    @Test(arguments: ["../key", "/run/key", "..", "."])
    func `a credential's name that is not a file name is refused`(_ name: String) throws {
        let error = #expect(throws: SettingsError.self) { try credential("'\(name)'") }
        #expect(error?.reason == "\"\(name)\" is not a file name")
    }
}
