import CloudKitModel
import Testing

@testable import Access

@Suite struct WebServicesPathTests {
    @Test func `a path names the container, the environment, the database and the action`() throws {
        let path = try WebServicesPath("/database/1/iCloud.com.example.Notes/production/shared/records/modify")
        #expect(path.service == .database && path.container == "iCloud.com.example.Notes")
        #expect(path.environment == .production && path.database == .shared && path.action == "records/modify")
        let device = try WebServicesPath("/device/1/iCloud.com.example.Notes/development/tokens/create")
        #expect(device.service == .device && device.database == nil && device.action == "tokens/create")
        #expect(try WebServicesPath("/auth/1/iCloud.A/development/signin").service == .auth)
        #expect(try WebServicesPath("/database/1/iCloud%2EA/develop%6Dent/public/zones/list").container == "iCloud.A")
    }

    @Test(arguments: [
        ("", "404 -"), ("/", "404 -"), ("database/1/iCloud.A/production/public/x", "404 -"),
        ("//1/iCloud.A/x/y", "404 -"),
        ("/database/2/iCloud.A/production/public/records/query", "404 -"),
        ("/database/1/iCloud.A/production/public", "404 -"), ("/database/1/iCloud.A/production/public/", "404 -"),
        ("/device/1/iCloud.A/production", "404 -"), ("/other/1/iCloud.A/production/public/records/query", "404 -"),
        ("/database/1/com.A/production/public/records/query", "400 container"),
        ("/database/1/iCloud./production/public/records/query", "400 container"),
        ("/database/1/iCloud.%2/production/public/records/query", "400 container"),
        ("/database/1/iCloud.A%2FB/production/public/records/query", "400 container"),
        ("/database/1/iCloud.A/Production/public/records/query", "400 environment"),
        ("/database/1/iCloud.A/production", "400 database"),
        ("/database/1/iCloud.A/production/everyone/records/query", "400 database"),
    ])
    func `a malformed path is refused, and the error has a field if the container, environment or database is wrong`(
        path: String, expected: String
    ) throws {
        let error = #expect(throws: AccessError.self) { try WebServicesPath(path) }
        #expect(error?.summary == expected)
    }

    @Test(arguments: [
        ("a%2Bb%2Fc%3D", "a+b/c="), ("a+b/c=", "a+b/c="), ("%F0%9F%98%80", "😀"), ("%e2%82%AC", "€"), ("", ""),
    ])
    func `a plus sign stays a plus sign, and escapes are decoded`(text: String, expected: String) {
        #expect(PercentText.decoded(text[...]) == expected)
    }

    @Test(arguments: ["%", "%2", "%2g", "%+1", "%FF", "a%E2%82", "%%41"])
    func `text with a broken escape, or with escapes that are not UTF-8, cannot be decoded`(text: String) {
        #expect(PercentText.decoded(text[...]) == nil)
    }
}
