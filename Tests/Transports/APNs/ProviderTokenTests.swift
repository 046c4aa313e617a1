import Foundation
import Signing
import Testing
import Time

@testable import TransportAPNs

/// Tests how a provider token is made, replaced and stored. Source of the rules: Apple's page "Establishing a
/// token-based connection to APNs".
@Suite struct ProviderTokens {
    private static let signing = PrivateKey()
    private static let start = Instant(rfc3339: "2026-01-01T00:00:00.7Z")!

    private static func key() throws -> SigningKey {
        try SigningKey(id: "KEY1234567", team: "ABCDE12345", pem: signing.pem)
    }

    private static func decoded(_ text: Substring) throws -> Data {
        let padded = text.replacing("-", with: "+").replacing("_", with: "/")
        return try #require(Data(base64Encoded: padded + String(repeating: "=", count: (4 - padded.count % 4) % 4)))
    }

    @Test func `a token is a JWT that the key signed with ES256, in base64url without padding`() throws {
        let token = try ProviderToken(signedBy: Self.key(), at: Self.start)
        let parts = token.text.split(separator: ".", omittingEmptySubsequences: false)
        #expect(parts.count == 3 && !token.text.contains("="))
        #expect(String(decoding: try Self.decoded(parts[0]), as: UTF8.self) == #"{"alg":"ES256","kid":"KEY1234567"}"#)
        #expect(
            String(decoding: try Self.decoded(parts[1]), as: UTF8.self) == #"{"iss":"ABCDE12345","iat":1767225600}"#)
        let signature = try Self.decoded(parts[2])
        #expect(signature.count == 64)
        let content = Data(token.text.dropLast(parts[2].count + 1).utf8)
        #expect(Self.signing.publicKey.isValid(rawSignature: Array(signature), for: Array(content)))
    }

    @Test func `a token is used until it reaches the age for its replacement`() throws {
        var keeper = TokenKeeper(try Self.key(), jitter: { 0.5 })
        let first = try keeper.current(at: Self.start, age: .seconds(2_400))
        #expect(first.isNew)
        let later = try keeper.current(at: Self.start.advanced(by: .seconds(2_390)), age: .seconds(2_400))
        #expect(!later.isNew && later.0 == first.0)
        let renewed = try keeper.current(at: Self.start.advanced(by: .seconds(2_400)), age: .seconds(2_400))
        #expect(renewed.isNew && renewed.0 != first.0)
    }

    @Test func `a token that APNs calls expired is replaced only if it is at least twenty minutes old`() throws {
        var keeper = TokenKeeper(try Self.key(), jitter: { 0.5 })
        let token = try keeper.current(at: Self.start, age: .seconds(2_400)).0
        #expect(try !keeper.replaceExpired(at: Self.start.advanced(by: .seconds(1_199))))
        #expect(keeper.token == token)
        #expect(try keeper.replaceExpired(at: Self.start.advanced(by: .seconds(1_201))))
        #expect(keeper.token != token)
    }

    @Test func `if APNs counts too many tokens, the token is kept for twenty more minutes, unless it gets an hour old`()
        throws
    {
        var keeper = TokenKeeper(try Self.key(), jitter: { 0.5 })
        let token = try keeper.current(at: Self.start, age: .seconds(2_400)).0
        keeper.pauseReplacement(at: Self.start.advanced(by: .seconds(2_000)))
        #expect(try keeper.current(at: Self.start.advanced(by: .seconds(3_100)), age: .seconds(2_400)).0 == token)
        #expect(try !keeper.replaceExpired(at: Self.start.advanced(by: .seconds(3_100))))
        #expect(try keeper.current(at: Self.start.advanced(by: .seconds(3_201)), age: .seconds(2_400)).isNew)
        keeper.pauseReplacement(at: Self.start.advanced(by: .seconds(6_000)))
        #expect(
            try keeper.current(at: Self.start.advanced(by: .seconds(6_800)), age: .seconds(2_400)).isNew,
            "no token is older than an hour")
    }

    @Test func `a token survives a restart unless its time is far in the future`() throws {
        let kept = try ProviderToken(signedBy: Self.key(), at: Self.start)
        var keeper = TokenKeeper(try Self.key(), kept: kept, jitter: { 0.5 })
        #expect(try keeper.current(at: Self.start.advanced(by: .seconds(60)), age: .seconds(2_400)).0 == kept)
        var behind = TokenKeeper(try Self.key(), kept: kept, jitter: { 0.5 })
        #expect(try behind.current(at: Self.start.advanced(by: .seconds(-3_600)), age: .seconds(2_400)).isNew)
    }

    @Test func `a stored token that the key did not sign is ignored`() throws {
        let other = try SigningKey(
            id: "KEY1234567", team: "ABCDE12345", pem: PrivateKey().pem)
        let kept = try ProviderToken(signedBy: other, at: Self.start)
        for text in [kept.text, "", "a.b.c", "\(kept.text).x"] {
            let stored = ProviderToken(text: text, issued: kept.issued)
            var keeper = TokenKeeper(try Self.key(), kept: stored, jitter: { 0.5 })
            #expect(try keeper.current(at: Self.start, age: .seconds(2_400)).isNew, "\(text)")
        }
    }

    @Test func `a token file is made with its folder, is private to its owner, and is ignored if damaged`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "token-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = TokenFile(folder.appending(path: "apns.token").path)
        #expect(file.read() == nil)
        let token = try ProviderToken(signedBy: Self.key(), at: Self.start)
        #expect(file.write(token) == nil)
        #expect(TokenFile("/dev/null/apns.token").write(token) != nil)
        let early = TokenFile(folder.appending(path: "logs/outcomes/apns.token").path)
        #expect(early.write(token) == nil && early.read() == token, "the stage has made no folder yet")
        #expect(file.read() == token)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try Data("rubbish".utf8).write(to: URL(fileURLWithPath: file.path))
        #expect(file.read() == nil)
    }
}
