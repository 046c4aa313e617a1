import Testing

@testable import NATS

@Suite struct ServerAddressTests {
    @Test(arguments: [
        ("nats://n1:4222", "nats://n1:4222"), ("nats://n1", "nats://n1:4222"), ("tls://10.0.0.1:1", "tls://10.0.0.1:1"),
        ("nats://[::1]:65535", "nats://[::1]:65535"), ("nats://[fe80::1%eth0]", "nats://[fe80::1%eth0]:4222"),
    ])
    func `an address is a scheme, a host and a port`(text: String, expected: String) throws {
        #expect(try ServerAddress(text).description == expected)
    }

    @Test(arguments: [
        "", "n1:4222", "http://n1:4222", "nats://", "nats://:4222", "nats://n1:", "nats://n1:0", "nats://n1:65536",
        "nats://n1:+1", "nats://n1:4222/", "nats://n 1", "nats://a,b", "nats://[::1", "nats://[]:1", "nats://::1",
        "nats://n1:4222\r\nPUB x", "nats://n1\0:4222",
    ])
    func `any other text is an error`(text: String) {
        #expect(throws: NATSError.self) { try ServerAddress(text) }
    }

    @Test(arguments: ["nats://alice:sesame@n1:4222", "tls://sesame@n1", "alice:sesame@n1", "nats://a:ses@sesame@n1"])
    func `the error for an address with a password does not contain the password`(text: String) throws {
        let error = try #require(throws: NATSError.self) { try ServerAddress(text) }
        #expect(!"\(error)".contains("sesame") && !"\(error)".contains("alice") && "\(error)".contains("@n1"))
    }
}

@Suite struct NKeySeedTests {
    @Test(arguments: [
        (
            "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
            "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
        ),
        (TestTokens.userSeed, TestTokens.userKey), ("\n \(TestTokens.userSeed)\n", TestTokens.userKey),
    ])
    func `the public key is computed from the seed`(text: String, expected: String) throws {
        #expect(try NKeySeed(text).publicKey == expected)
    }

    @Test func `a text that differs from a seed in one character is an error that does not repeat the text`() throws {
        let seed = TestTokens.userSeed
        for index in seed.indices {
            var other = seed
            other.replaceSubrange(index...index, with: seed[index] == "A" ? "B" : "A")
            let error = try #require(throws: NATSError.self, "\(index)") { try NKeySeed(other) }
            #expect(!"\(error)".contains(seed.prefix(8)) && !"\(error)".contains(seed.suffix(8)))
        }
    }

    @Test(arguments: [
        "", "SU", "sesame", TestTokens.userSeed + "A", String(TestTokens.userSeed.dropLast()), TestTokens.userKey,
        TestTokens.userSeed.lowercased(), "\(TestTokens.userSeed) \(TestTokens.userSeed)",
        // The seed of an account.
        "SAAMCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQWC",
    ])
    func `a text that is not the seed of a user is an error`(text: String) {
        #expect(throws: NATSError.self) { try NKeySeed(text) }
    }

    @Test func `credentials and settings print no user, password, token or seed`() throws {
        let all: [NATSCredentials] = [
            .user("alice", password: "sesame"), .token("sesame"), .nkey(try NKeySeed(TestTokens.userSeed)),
        ]
        var settings = try NATSSettings(servers: ["nats://n1"])
        for credentials in all {
            settings.credentials = credentials
            var dumped = ""
            dump(settings, to: &dumped)
            for text in ["\(credentials)", "\(settings)", String(reflecting: settings), dumped] {
                for secret in ["alice", "sesame", TestTokens.userSeed] { #expect(!text.contains(secret)) }
            }
        }
    }
}

@Suite struct MessageTests {
    @Test(arguments: ["", ".", "a.", ".a", "a..b", "a b", "a\r\nPUB x", "a\tb", "a\0", "a\u{7F}"])
    func `a text that is not a subject is an error, and nothing is sent`(subject: String) {
        #expect(throws: NATSError.invalidSubject(subject)) { try NATSMessage(subject).withPointer { _ in } }
        #expect(throws: NATSError.invalidSubject(subject)) {
            try NATSMessage("a", replySubject: subject).withPointer { _ in }
        }
    }

    @Test(arguments: [("", "v"), ("a b", "v"), ("a:", "v"), ("a\n", "v"), ("ä", "v"), ("a", "v\r\nb: c"), ("a", "\0")])
    func `a header that would break the message is an error`(name: String, value: String) {
        #expect(throws: NATSError.invalidHeader(name: name)) {
            try NATSMessage("a", headers: [NATSHeader(name, value)]).withPointer { _ in }
        }
    }

    @Test func `errors show no control characters`() {
        for error in [NATSError.invalidSubject("a\u{1B}[31m"), .invalidHeader(name: "a\r\nb")] {
            #expect("\(error)".utf8.allSatisfy { $0 >= 0x20 })
        }
    }
}
