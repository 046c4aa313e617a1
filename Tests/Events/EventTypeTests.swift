import Events
import JSON
import Testing

@Suite struct EventTypes {
    @Test func noTypeIsDeclaredTwiceAndNoMemberOfOne() {
        #expect(Set(EventType.all.map(\.name.description)).count == EventType.all.count)
        for type in EventType.all {
            let members = type.entries.map(\.member.description)
            #expect(Set(members).count == members.count, "\(type.name)")
        }
    }

    @Test(
        arguments: [
            (#"{"type":"badge.set","container":"c","environment":"production","user":"u","badge":3}"#, []),
            (#"{"type":"badge.set","environment":"production","user":"u","badge":3}"#, ["container: missing"]),
            (#"{"type":"badge.set","container":"c","environment":"test","user":"u","badge":3}"#, ["environment"]),
            (
                #"{"type":"badge.set","container":"c","environment":"production","user":7,"badge":-1}"#,
                ["user", "badge"]
            ),
            (#"{"type":"badge.set","container":"c","environment":"production","user":"u","badge":0,"x":1}"#, ["x"]),
        ] as [(String, [String])])
    func whatIsNotAsDeclaredIsNamed(event: String, problems: [String]) throws {
        var parser = JSONParser()
        try event.utf8.withContiguousStorageIfAvailable { bytes in
            let json = try parser.parse(UnsafeRawBufferPointer(bytes))
            let found = try #require(EventType.of(json)).problems(of: json)
            #expect(found.count == problems.count)
            for problem in problems { #expect(found.contains { $0.hasPrefix(problem) }, "\(found)") }
        }
    }
}
